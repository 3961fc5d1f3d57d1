#include "multipart.hpp"

#include <optional>

#include "core/text.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro::serve {
namespace {

constexpr std::size_t kMostFiles = 1000;
constexpr std::size_t kLongestName = 200;

[[noreturn]] void fail_broken() {
  throw usage_error("the body is not multipart/form-data as its header says");
}

// The value of name="..." or name=... in a header field.
std::optional<std::string> attribute(std::string_view field, std::string_view name) {
  const std::string lower = lower_case(std::string(field));
  for (std::size_t at = lower.find(name); at != std::string::npos; at = lower.find(name, at + 1)) {
    const bool is_whole = at > 0 && (field[at - 1] == ' ' || field[at - 1] == ';');
    std::size_t begin = at + name.size();
    if (!is_whole || begin >= field.size() || field[begin] != '=') continue;
    ++begin;
    if (begin < field.size() && field[begin] == '"') {
      const std::size_t end = field.find('"', begin + 1);
      if (end == std::string_view::npos) return std::nullopt;
      return std::string(field.substr(begin + 1, end - begin - 1));
    }
    return std::string(field.substr(begin, field.find_first_of("; \r\n", begin) - begin));
  }
  return std::nullopt;
}

std::span<const std::byte> as_span(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// One part: fields, an empty line, contents. Those that are no files are passed over.
void take_part(std::string_view part, std::vector<SentFile>& files) {
  const std::size_t end = part.find("\r\n\r\n");
  if (end == std::string_view::npos) fail_broken();
  const auto name = attribute(part.substr(0, end), "filename");
  if (!name) return;
  if (files.size() == kMostFiles) throw usage_error("too many files at once; send at most 1000");
  files.push_back({as_text_line(name->substr(0, kLongestName)), as_span(part.substr(end + 4))});
}

}  // namespace

std::vector<SentFile> sent_files(const Request& request) {
  const std::string& type = request.head.field("content-type");
  if (!lower_case(type).starts_with("multipart/form-data")) {
    if (request.body.empty()) throw usage_error("the body is empty; send a picture");
    return {{"picture", as_span(request.body)}};
  }
  const auto boundary = attribute(type, "boundary");
  if (!boundary || boundary->empty()) fail_broken();
  const std::string line = "--" + *boundary;
  std::string_view rest = request.body;
  if (!rest.starts_with(line)) fail_broken();
  rest.remove_prefix(line.size());
  std::vector<SentFile> files;
  while (!rest.starts_with("--")) {
    if (!rest.starts_with("\r\n")) fail_broken();
    const std::size_t end = rest.find("\r\n" + line, 2);
    if (end == std::string_view::npos) fail_broken();
    take_part(rest.substr(2, end - 2), files);
    rest.remove_prefix(end + 2 + line.size());
  }
  if (files.empty()) throw usage_error("the body has no files; send a picture");
  return files;
}

}  // namespace deepvoro::serve
