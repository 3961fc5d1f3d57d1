#include "pickle_reader.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <system_error>

#include "deepvoro/core/error.hpp"
#include "pickle_calls.hpp"

namespace deepvoro::pickle {
namespace {

constexpr std::size_t kDeepestStack = std::size_t{1} << 20U;
constexpr std::size_t kMostMarks = std::size_t{1} << 12U;
// Protocol 0 text is decoded to UTF-8 (at most twice its size) and that to bytes (half of it).
constexpr std::size_t kDecodedPerFileByte = 4;

// Takes bytes off the front of the file.
class Cursor {
 public:
  explicit Cursor(std::string_view all) : all_(all) {}

  [[nodiscard]] std::size_t position() const { return position_; }

  std::string_view take(std::uint64_t count) {
    if (count > all_.size() - position_) throw Refusal("is truncated");
    const std::string_view taken = all_.substr(position_, count);
    position_ += count;
    return taken;
  }
  std::uint64_t little_endian(std::size_t width) {
    const std::string_view bytes = take(width);
    std::uint64_t number = 0;
    for (std::size_t i = width; i-- > 0;)
      number = number << 8U | static_cast<unsigned char>(bytes[i]);
    return number;
  }
  std::string_view counted(std::size_t width) { return take(little_endian(width)); }
  std::string_view line() {
    const std::size_t end = all_.find('\n', position_);
    if (end == std::string_view::npos) throw Refusal("is truncated");
    const std::string_view text = take(end - position_);
    take(1);
    return text;
  }

 private:
  std::string_view all_;
  std::size_t position_ = 0;
};

template <class Number>
Number number_from(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end)
    throw Refusal("holds a number that cannot be parsed");
  return number;
}

// Two's complement of any width up to eight bytes.
std::int64_t signed_number(std::string_view bytes) {
  if (bytes.size() > 8) throw Refusal("holds a whole number of more than 64 bits");
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    number = number << 8U | static_cast<unsigned char>(bytes[i]);
  const auto unused = static_cast<unsigned>(64 - 8 * bytes.size());
  if (unused == 64) return 0;
  return std::bit_cast<std::int64_t>(number << unused) >> unused;
}

double big_endian_double(std::string_view bytes) {
  std::uint64_t bits = 0;
  for (const char byte : bytes) bits = bits << 8U | static_cast<unsigned char>(byte);
  return std::bit_cast<double>(bits);
}

class Machine {
 public:
  explicit Machine(std::string_view bytes)
      : cursor_(bytes), calls_(document_.objects, kDecodedPerFileByte * bytes.size()) {}

  Document run() {
    while (step(cursor_.take(1).front())) {
    }
    document_.root = pop();
    return std::move(document_);
  }
  [[nodiscard]] std::size_t position() const { return cursor_.position(); }

 private:
  // Obeys one opcode; false when it was the last.
  bool step(char opcode) {
    if (opcode == '.') return false;
    if (!number(opcode) && !text(opcode) && !container(opcode) && !memory(opcode) &&
        !call(opcode) && !frame(opcode))
      throw Refusal(
          fmt::format("uses pickle opcode 0x{:02x}, which a feature file does not need; refused",
                      static_cast<unsigned char>(opcode)));
    return true;
  }

  bool frame(char opcode) {
    switch (opcode) {
      case '\x80':  // PROTO
        if (cursor_.little_endian(1) > 5) throw Refusal("uses a pickle protocol above 5");
        return true;
      case '\x95':  // FRAME
        cursor_.take(8);
        return true;
      default:
        return false;
    }
  }

  bool number(char opcode) {
    switch (opcode) {
      case 'N':
        push(None{});
        return true;
      case '\x88':
      case '\x89':
        push(opcode == '\x88');
        return true;
      case 'J':
        push(signed_number(cursor_.take(4)));
        return true;
      case 'K':
        push(static_cast<std::int64_t>(cursor_.little_endian(1)));
        return true;
      case 'M':
        push(static_cast<std::int64_t>(cursor_.little_endian(2)));
        return true;
      case '\x8a':
        push(signed_number(cursor_.counted(1)));
        return true;
      case 'G':
        push(big_endian_double(cursor_.take(8)));
        return true;
      case 'I':
      case 'L':
        push(written_integer(cursor_.line()));
        return true;
      case 'F':
        push(number_from<double>(cursor_.line()));
        return true;
      default:
        return false;
    }
  }

  static Value written_integer(std::string_view line) {
    if (line == "00" || line == "01") return line == "01";
    if (line.ends_with('L')) line.remove_suffix(1);
    return number_from<std::int64_t>(line);
  }

  bool text(char opcode) {
    switch (opcode) {
      case 'V':
        push(calls_.unescape(cursor_.line()));
        return true;
      case '\x8c':
        push(Text{cursor_.counted(1)});
        return true;
      case 'X':
        push(Text{cursor_.counted(4)});
        return true;
      case '\x8d':
        push(Text{cursor_.counted(8)});
        return true;
      case 'C':
      case 'U':
        push(Bytes{cursor_.counted(1)});
        return true;
      case 'B':
      case 'T':
        push(Bytes{cursor_.counted(4)});
        return true;
      case '\x8e':  // BINBYTES8
      case '\x96':  // BYTEARRAY8
        push(Bytes{cursor_.counted(8)});
        return true;
      default:
        return false;
    }
  }

  bool container(char opcode) {
    Objects& objects = document_.objects;
    switch (opcode) {
      case '(':
        if (marks_.size() == kMostMarks) throw Refusal("is nested too deeply");
        marks_.push_back(stack_.size());
        return true;
      case ']':
        push(&objects.lists.emplace_back());
        return true;
      case '}':
        push(&objects.dicts.emplace_back());
        return true;
      case ')':
        push_tuple({});
        return true;
      case 'l':
        objects.lists.push_back({pop_to_mark()});
        push(&objects.lists.back());
        return true;
      case 'd': {
        Dict& dict = objects.dicts.emplace_back();
        add_pairs(dict, pop_to_mark());
        push(&dict);
        return true;
      }
      case 't':
        push_tuple(pop_to_mark());
        return true;
      case '\x85':
      case '\x86':
      case '\x87':
        push_tuple(pop_last(static_cast<std::size_t>(opcode - '\x85') + 1));
        return true;
      case 'a':
        append(pop_last(1));
        return true;
      case 'e':
        append(pop_to_mark());
        return true;
      case 's':
        set_items(pop_last(2));
        return true;
      case 'u':
        set_items(pop_to_mark());
        return true;
      case '0':
        pop();
        return true;
      default:
        return false;
    }
  }

  bool memory(char opcode) {
    switch (opcode) {
      case '\x94':
        remember(memo_.size());
        return true;
      case 'q':
        remember(cursor_.little_endian(1));
        return true;
      case 'r':
        remember(cursor_.little_endian(4));
        return true;
      case 'p':
        remember(number_from<std::uint64_t>(cursor_.line()));
        return true;
      case 'h':
        recall(cursor_.little_endian(1));
        return true;
      case 'j':
        recall(cursor_.little_endian(4));
        return true;
      case 'g':
        recall(number_from<std::uint64_t>(cursor_.line()));
        return true;
      default:
        return false;
    }
  }

  bool call(char opcode) {
    switch (opcode) {
      case 'c': {
        const std::string_view module = cursor_.line();
        push_callable(module, cursor_.line());
        return true;
      }
      case '\x93': {  // STACK_GLOBAL
        const std::vector<Value> names = pop_last(2);
        const Text* module = std::get_if<Text>(&names[0]);
        const Text* name = std::get_if<Text>(&names[1]);
        if (module == nullptr || name == nullptr) throw Refusal("names a global without text");
        push_callable(module->utf8, name->utf8);
        return true;
      }
      case 'R': {
        const std::vector<Value> parts = pop_last(2);
        push(calls_.reduce(parts[0], parts[1]));
        return true;
      }
      case 'b': {
        const Value state = pop();
        calls_.build(top(), state);
        return true;
      }
      default:
        return false;
    }
  }

  void push(Value value) {
    if (stack_.size() == kDeepestStack) throw Refusal("is nested too deeply");
    stack_.push_back(value);
  }
  void push_tuple(std::vector<Value> items) {
    document_.objects.tuples.push_back({std::move(items)});
    push(&document_.objects.tuples.back());
  }
  void push_callable(std::string_view module, std::string_view name) {
    const auto callable = find_callable(module, name);
    if (!callable)
      throw Refusal(fmt::format("names '{}.{}', which a feature file does not need; refused",
                                printable(module), printable(name)));
    push(*callable);
  }
  static std::string printable(std::string_view name) {
    constexpr std::size_t longest = 100;
    std::string out;
    for (const char c : name.substr(0, longest)) out += c > ' ' && c < '\x7f' ? c : '?';
    return out;
  }

  // Values below the last mark belong to containers still being filled.
  [[nodiscard]] std::size_t available() const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }
  Value& top() {
    if (available() == 0) throw Refusal("takes more from the stack than is there");
    return stack_.back();
  }
  Value pop() {
    const Value value = top();
    stack_.pop_back();
    return value;
  }
  std::vector<Value> pop_last(std::size_t count) {
    if (count > available()) throw Refusal("takes more from the stack than is there");
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<Value> values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return values;
  }
  std::vector<Value> pop_to_mark() {
    if (marks_.empty()) throw Refusal("ends a group that never began");
    std::vector<Value> values = pop_last(available());
    marks_.pop_back();
    return values;
  }

  void append(std::vector<Value> values) {
    List* const* list = std::get_if<List*>(&top());
    if (list == nullptr) throw Refusal("appends to something that is not a list");
    std::vector<Value>& items = (*list)->items;
    items.insert(items.end(), values.begin(), values.end());
  }
  void set_items(const std::vector<Value>& pairs) {
    Dict* const* dict = std::get_if<Dict*>(&top());
    if (dict == nullptr) throw Refusal("sets items of something that is not a dict");
    add_pairs(**dict, pairs);
  }
  static void add_pairs(Dict& dict, const std::vector<Value>& pairs) {
    if (pairs.size() % 2 != 0) throw Refusal("gives a dict a key without a value");
    for (std::size_t i = 0; i < pairs.size(); i += 2)
      dict.items.emplace_back(pairs[i], pairs[i + 1]);
  }

  // Pickles number their memo from 0 or 1 on without gaps; a larger number would only cost memory.
  void remember(std::uint64_t index) {
    if (index > memo_.size() + 1) throw Refusal("skips places of the memo");
    if (index >= memo_.size()) memo_.resize(index + 1);
    memo_[index] = top();
  }
  void recall(std::uint64_t index) {
    if (index >= memo_.size()) throw Refusal("recalls a place of the memo that was never filled");
    push(memo_[index]);
  }

  Cursor cursor_;
  Document document_;
  Calls calls_;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Value> memo_;
};

}  // namespace

Document read_pickle(std::span<const std::byte> bytes, const std::string& where) {
  Machine machine({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  try {
    return machine.run();
  } catch (const Refusal& refusal) {
    throw data_error(fmt::format("{}: byte {}: {}", where, machine.position(), refusal.what()));
  }
}

}  // namespace deepvoro::pickle
