#include "features/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// The dictionary literal in the header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader read() {
    NpyHeader header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        header.descr = quoted();
        has_descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) fail();
    return header;
  }

 private:
  [[noreturn]] void fail() const {
    throw data_error(
        fmt::format("{}: cannot parse the .npy header; write the file with numpy.save "
                    "as an array of plain numbers",
                    where_));
  }
  void skip_space() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n'))
      text_.remove_prefix(1);
  }
  bool accept(char wanted) {
    skip_space();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail();
  }
  std::string_view quoted() {
    expect('\'');
    const std::size_t end = text_.find('\'');
    if (end == std::string_view::npos) fail();
    const std::string_view inside = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return inside;
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}})
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    fail();
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> sizes;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::uint64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc()) fail();
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      sizes.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::string_view text_;
  const std::string& where_;
};

std::size_t text_size(char kind, std::string_view digits) {
  constexpr std::size_t most = std::size_t{1} << 20U;
  std::size_t letters = 0;
  const char* end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, letters).ptr != end || letters > most) return 0;
  return kind == 'U' ? 4 * letters : letters;
}

std::size_t little_endian(std::span<const std::byte> bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8U | std::to_integer<std::size_t>(bytes[i]);
  return value;
}

}  // namespace

std::uint64_t NpyHeader::elements() const {
  std::uint64_t product = 1;
  for (const std::uint64_t size : shape) {
    if (size != 0 && product > std::numeric_limits<std::uint64_t>::max() / size)
      return std::numeric_limits<std::uint64_t>::max();
    product *= size;
  }
  return product;
}

std::size_t npy_item_size(std::string_view descr) {
  if (descr.size() < 3) return 0;
  const char order = descr[0];
  const char kind = descr[1];
  if (order != '<' && order != '>' && order != '|' && order != '=') return 0;
  if (kind == 'U' || kind == 'S') return text_size(kind, descr.substr(2));
  if (descr.size() != 3) return 0;
  const auto size = static_cast<std::size_t>(descr[2] - '0');
  const bool power_of_two = size == 1 || size == 2 || size == 4 || size == 8;
  if (kind == 'f') return size == 1 || !power_of_two ? 0 : size;
  if (kind == 'i' || kind == 'u') return power_of_two ? size : 0;
  if (kind == 'b') return size == 1 ? 1 : 0;
  return 0;
}

NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.empty())
    throw data_error(fmt::format("{}: is empty; a .npy file was expected, write it again", where));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic))
    throw data_error(fmt::format("{}: is not a .npy file; write it with numpy.save", where));
  const auto cut_short = [&] {
    return data_error(fmt::format("{}: is truncated within its header; write it again", where));
  };
  if (bytes.size() < 10) throw cut_short();
  const auto version = std::to_integer<unsigned>(bytes[6]);
  if (version < 1 || version > 3)
    throw data_error(fmt::format("{}: has .npy version {}; 1 to 3 can be read", where, version));
  const std::size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) throw cut_short();
  const std::size_t length = little_endian(bytes.subspan(8, start - 8));
  if (length > bytes.size() - start) throw cut_short();

  NpyHeader header = HeaderReader(text.substr(start, length), where).read();
  header.data_offset = start + length;
  const std::size_t item = npy_item_size(header.descr);
  if (header.descr == "|O")
    throw data_error(fmt::format(
        "{}: holds Python objects; save texts as numpy.array(texts, dtype=str)", where));
  if (item == 0)
    throw data_error(fmt::format("{}: holds elements of type '{}'; plain numbers were expected",
                                 where, header.descr));
  const std::size_t present = bytes.size() - header.data_offset;
  if (header.elements() > present / item)
    throw data_error(
        fmt::format("{}: its header promises an array of ({}) elements of {} bytes, but there are "
                    "only {} bytes of data; the file is truncated or damaged, write it again",
                    where, fmt::join(header.shape, ", "), item, present));
  return header;
}

std::string npy_header(std::string_view descr, std::span<const std::uint64_t> shape) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   descr, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t prefix = 10;
  constexpr std::size_t alignment = 64;
  while ((prefix + header.size() + 1) % alignment != 0) header += ' ';
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xFFU);
  out += static_cast<char>(header.size() >> 8U);
  return out + header;
}

void write_npy(const std::filesystem::path& file, std::string_view descr,
               std::span<const std::uint64_t> shape, std::span<const std::byte> data) {
  AtomicFile out(file);
  out.write(npy_header(descr, shape));
  out.write(data);
  out.commit();
}

}  // namespace deepvoro
