#include "pickle_calls.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace deepvoro::pickle {
namespace {

struct KnownName {
  std::string_view module;
  std::string_view name;
  Callable callable;
};

// NumPy 2 moved numpy.core to numpy._core; protocols 0 to 2 call builtins __builtin__.
constexpr std::array<KnownName, 12> kKnownNames{{
    {"numpy.core.multiarray", "_reconstruct", Callable::reconstruct},
    {"numpy._core.multiarray", "_reconstruct", Callable::reconstruct},
    {"numpy.core.multiarray", "scalar", Callable::scalar},
    {"numpy._core.multiarray", "scalar", Callable::scalar},
    {"numpy.core.numeric", "_frombuffer", Callable::frombuffer},
    {"numpy._core.numeric", "_frombuffer", Callable::frombuffer},
    {"numpy", "ndarray", Callable::ndarray},
    {"numpy", "dtype", Callable::dtype},
    {"_codecs", "encode", Callable::encode},
    {"collections", "defaultdict", Callable::defaultdict},
    {"builtins", "list", Callable::list},
    {"__builtin__", "list", Callable::list},
}};

template <class T>
const T& expect(const Value& value, const char* what) {
  if (const T* found = std::get_if<T>(&value)) return *found;
  throw Refusal(what);
}

const Value& item(const Tuple& tuple, std::size_t index, const char* what) {
  if (index < tuple.items.size()) return tuple.items[index];
  throw Refusal(what);
}

std::string_view raw_data(const Value& value, const char* what) {
  return expect<Bytes>(value, what).bytes;
}

// Python 2 and protocols below 3 write short names as bytes.
std::string_view short_name(const Value& value, const char* what) {
  if (const Bytes* bytes = std::get_if<Bytes>(&value)) return bytes->bytes;
  return expect<Text>(value, what).utf8;
}

bool truth(const Value& value, const char* what) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number != 0;
  return expect<bool>(value, what);
}

std::vector<std::uint64_t> shape_of(const Value& value) {
  constexpr const char* what = "an array's shape is not a tuple of whole numbers";
  constexpr std::size_t most_dimensions = 64;  // NumPy's own limit
  const std::vector<Value>& sizes = expect<Tuple*>(value, what)->items;
  if (sizes.size() > most_dimensions) throw Refusal(what);
  std::vector<std::uint64_t> shape;
  for (const Value& size : sizes) {
    if (expect<std::int64_t>(size, what) < 0) throw Refusal(what);
    shape.push_back(static_cast<std::uint64_t>(std::get<std::int64_t>(size)));
  }
  return shape;
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto add = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code_point < 0x80U) {
    add(code_point);
  } else if (code_point < 0x800U) {
    add(0xC0U | code_point >> 6U);
    add(0x80U | (code_point & 0x3FU));
  } else {
    throw Refusal("holds text beyond Latin-1 where data were expected");
  }
}

}  // namespace

std::optional<Callable> find_callable(std::string_view module, std::string_view name) {
  for (const KnownName& known : kKnownNames)
    if (known.module == module && known.name == name) return known.callable;
  return std::nullopt;
}

std::string& Calls::new_buffer(std::size_t largest) {
  if (largest > budget_) throw Refusal("asks for more memory than its size can need");
  budget_ -= largest;
  std::string& buffer = objects_.decoded.emplace_back();
  buffer.reserve(largest);
  return buffer;
}

Text Calls::unescape(std::string_view raw) {
  std::string& text = new_buffer(2 * raw.size());
  while (!raw.empty()) {
    std::uint32_t code_point = static_cast<unsigned char>(raw.front());
    std::size_t used = 1;
    if (raw.starts_with("\\u")) {
      used = 6;
      const std::string_view digits = raw.substr(2, 4);
      const char* end = digits.data() + digits.size();
      if (digits.size() != 4 || std::from_chars(digits.data(), end, code_point, 16).ptr != end)
        throw Refusal("holds a broken \\u escape");
    }
    append_utf8(text, code_point);
    raw.remove_prefix(used);
  }
  return {text};
}

Value Calls::encode_latin1(const Tuple& arguments) {
  constexpr const char* what = "calls _codecs.encode with anything but text and 'latin1'";
  const std::string_view text = expect<Text>(item(arguments, 0, what), what).utf8;
  const std::string_view codec = expect<Text>(item(arguments, 1, what), what).utf8;
  if (arguments.items.size() != 2 || (codec != "latin1" && codec != "latin-1")) throw Refusal(what);
  std::string& bytes = new_buffer(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80U) {
      bytes += text[i];
      continue;
    }
    // Latin-1 above ASCII is two bytes of UTF-8: 110000xx 10xxxxxx.
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if ((lead & 0xFCU) != 0xC0U || (next & 0xC0U) != 0x80U)
      throw Refusal("encodes text that is not Latin-1");
    bytes += static_cast<char>((lead & 0x03U) << 6U | (next & 0x3FU));
    ++i;
  }
  return Bytes{bytes};
}

Value Calls::make_dtype(const Tuple& arguments) {
  constexpr const char* what = "makes a numpy.dtype from anything but a name";
  objects_.dtypes.push_back({.name = short_name(item(arguments, 0, what), what)});
  return &objects_.dtypes.back();
}

Value Calls::make_array(const Tuple& arguments) {
  constexpr const char* what = "calls numpy's _frombuffer in an unsupported way";
  const std::string_view order = short_name(item(arguments, 3, what), what);
  if (order != "C" && order != "F") throw Refusal(what);
  objects_.arrays.push_back({.dtype = expect<Dtype*>(item(arguments, 1, what), what),
                             .shape = shape_of(item(arguments, 2, what)),
                             .fortran_order = order == "F",
                             .data = raw_data(item(arguments, 0, what), what)});
  return &objects_.arrays.back();
}

Value Calls::make_scalar(const Tuple& arguments) {
  constexpr const char* what = "makes a NumPy number in an unsupported way";
  objects_.arrays.push_back({.dtype = expect<Dtype*>(item(arguments, 0, what), what),
                             .shape = {},
                             .data = raw_data(item(arguments, 1, what), what)});
  return &objects_.arrays.back();
}

Value Calls::reduce(const Value& callable, const Value& arguments) {
  const Callable function = expect<Callable>(callable, "calls something that cannot be called");
  const Tuple& given = *expect<Tuple*>(arguments, "calls a function without a tuple");
  switch (function) {
    case Callable::reconstruct:
      if (expect<Callable>(item(given, 0, "rebuilds no type"), "rebuilds no type") !=
          Callable::ndarray)
        throw Refusal("rebuilds something that is not a numpy.ndarray");
      return &objects_.arrays.emplace_back();
    case Callable::frombuffer:
      return make_array(given);
    case Callable::scalar:
      return make_scalar(given);
    case Callable::dtype:
      return make_dtype(given);
    case Callable::encode:
      return encode_latin1(given);
    case Callable::defaultdict: {
      constexpr const char* what = "makes a defaultdict of anything but lists";
      if (expect<Callable>(item(given, 0, what), what) != Callable::list) throw Refusal(what);
      return &objects_.dicts.emplace_back();
    }
    case Callable::ndarray:
    case Callable::list:
      break;
  }
  throw Refusal("calls a type that is only ever named");
}

void Calls::build(const Value& object, const Value& state) {
  constexpr const char* what = "gives an object an unsupported state";
  const Tuple& given = *expect<Tuple*>(state, what);
  if (Dtype* const* dtype = std::get_if<Dtype*>(&object)) {
    const std::string_view order = short_name(item(given, 1, what), what);
    (*dtype)->order = order == ">" ? std::endian::big : std::endian::little;
  } else if (Array* const* array = std::get_if<Array*>(&object)) {
    (*array)->shape = shape_of(item(given, 1, what));
    (*array)->dtype = expect<Dtype*>(item(given, 2, what), what);
    (*array)->fortran_order = truth(item(given, 3, what), what);
    (*array)->data = raw_data(item(given, 4, what), "holds an array of Python objects");
  } else {
    throw Refusal(what);
  }
}

}  // namespace deepvoro::pickle
