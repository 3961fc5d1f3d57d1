#include "tar_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kLongestNote = std::size_t{1} << 20U;  // a long name or a pax header

// A field of a header of one block.
struct Field {
  std::size_t at;
  std::size_t length;
};
constexpr Field kName{0, 100};
constexpr Field kSize{124, 12};
constexpr Field kChecksum{148, 8};
constexpr Field kType{156, 1};
constexpr Field kMagic{257, 5};
constexpr Field kPrefix{345, 155};

std::string_view text(std::string_view header, Field field) {
  const std::string_view all = header.substr(field.at, field.length);
  return all.substr(0, all.find('\0'));
}

// Octal digits, or for large files base 256 with the first bit set. None where it is neither.
std::optional<std::size_t> number(std::string_view header, Field field) {
  const std::string_view all = header.substr(field.at, field.length);
  std::size_t value = 0;
  if ((static_cast<unsigned char>(all[0]) & 0x80U) != 0) {
    if (std::ranges::any_of(all.substr(1, all.size() - 9), [](char c) { return c != 0; }) ||
        static_cast<unsigned char>(all[0]) != 0x80U)
      return std::nullopt;
    for (const char c : all.substr(all.size() - 8))
      value = value << 8U | static_cast<unsigned char>(c);
    return value;
  }
  const std::size_t start = all.find_first_not_of(' ');
  if (start == std::string_view::npos) return std::nullopt;
  const char* end = all.data() + all.size();
  const auto [stop, error] = std::from_chars(all.data() + start, end, value, 8);
  if (error != std::errc{} || (stop != end && *stop != ' ' && *stop != '\0')) return std::nullopt;
  return value;
}

bool is_sound(std::string_view header) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool blank = i >= kChecksum.at && i < kChecksum.at + kChecksum.length;
    sum += static_cast<unsigned char>(blank ? ' ' : header[i]);
  }
  return number(header, kChecksum) == sum;
}

// What a pax header or a GNU long name says about the member after it.
struct Note {
  std::optional<std::string> path;
  std::optional<std::size_t> size;
};

// Records "<length> <key>=<value>\n".
bool read_pax(std::string_view records, Note& note) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [stop, error] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(stop - records.data());
    if (error != std::errc{} || length > records.size() || length < digits + 3 || *stop != ' ' ||
        records[length - 1] != '\n')
      return false;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    records.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path") note.path = std::string(value);
    if (key == "size") {
      std::size_t size = 0;
      const char* end = value.data() + value.size();
      const auto parsed = std::from_chars(value.data(), end, size);
      if (parsed.ec != std::errc{} || parsed.ptr != end) return false;
      note.size = size;
    }
  }
  return true;
}

class TarReader {
 public:
  TarReader(std::string_view archive, std::string where)
      : archive_(archive), where_(std::move(where)) {}

  std::vector<TarMember> members() {
    std::vector<TarMember> found;
    for (Note note;;) {
      const std::string_view header = take(kBlock, "its last header");
      if (header.find_first_not_of('\0') == std::string_view::npos) return found;
      if (!is_sound(header)) fail("the header is damaged");
      const std::string own_name = name_of(header);
      const auto own_size = number(header, kSize);
      if (!own_size) fail(fmt::format("'{}' has no size", printable(own_name)));
      const char type = header[kType.at];
      const bool is_note = type == 'L' || type == 'K' || type == 'x' || type == 'g';
      const std::size_t size = is_note ? *own_size : note.size.value_or(*own_size);
      const std::string path = is_note ? own_name : note.path.value_or(own_name);
      const std::size_t offset = at_;
      const std::string_view data = take(size, printable(path));
      at_ = std::min(archive_.size(), offset + (size + kBlock - 1) / kBlock * kBlock);
      if (is_note) {
        if (size > kLongestNote) fail("a name is too long");
        if (type == 'L') note.path = std::string(data.substr(0, data.find('\0')));
        if (type == 'x' && !read_pax(data, note)) fail("a pax header is damaged");
        continue;
      }
      if (type == '0' || type == '\0' || type == '7') found.push_back({path, offset, size});
      note = {};
    }
  }

 private:
  std::string_view take(std::size_t count, std::string_view what) {
    if (count > archive_.size() - at_)
      throw data_error(fmt::format("{}: ends within {}; copy it again", where_, what));
    at_ += count;
    return archive_.substr(at_ - count, count);
  }

  static std::string name_of(std::string_view header) {
    const std::string name(text(header, kName));
    const bool has_prefix =
        header.substr(kMagic.at, kMagic.length + 1) == std::string_view("ustar\0", 6);
    const std::string prefix(has_prefix ? text(header, kPrefix) : std::string_view());
    return prefix.empty() ? name : prefix + "/" + name;
  }

  static std::string printable(std::string name) {
    std::ranges::replace_if(
        name, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    return name;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw data_error(fmt::format("{}: is a damaged tar file before byte {}: {}; make it again",
                                 where_, at_, what));
  }

  std::string_view archive_;
  std::string where_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<TarMember> tar_members(std::string_view archive, const std::string& where) {
  return TarReader(archive, where).members();
}

}  // namespace deepvoro
