#include "flag_text.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace deepvoro {
namespace {

bool is_field(const std::string& word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

}  // namespace

std::string with_flags(const std::string& message) {
  const std::string text = as_text_line(message);
  std::string shown;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = std::min(text.find('`', at), text.size());
    const std::size_t end = begin < text.size() ? text.find('`', begin + 1) : std::string::npos;
    shown += text.substr(at, begin - at);
    if (end == std::string::npos) return shown + text.substr(begin);
    std::string word = text.substr(begin + 1, end - begin - 1);
    if (!is_field(word)) {  // a name that somebody gave a file
      shown += text[begin];
      at = begin + 1;
      continue;
    }
    std::ranges::replace(word, '_', '-');
    shown += "--" + word;
    at = end + 1;
  }
  return shown;
}

}  // namespace deepvoro
