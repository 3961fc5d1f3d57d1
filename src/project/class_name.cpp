#include "class_name.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"
#include "project_error.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kMostCharacters = 80;
constexpr std::size_t kMostBytes = 255;  // of a name in most file systems

// Bytes that begin a character in UTF-8.
std::size_t characters_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) {
    constexpr unsigned char mask = 0xC0;
    constexpr unsigned char continues = 0x80;
    return (static_cast<unsigned char>(c) & mask) != continues;
  }));
}

const char* fault_of(const std::string& name) {
  if (name.empty()) return "is empty";
  if (!is_text_line(name)) return "must be text on one line";
  if (characters_in(name) > kMostCharacters) return "is longer than 80 characters";
  if (name.size() > kMostBytes)
    return "takes more than the 255 bytes that a folder's name may have (an emoji takes 4)";
  if (name.find('/') != std::string::npos || name.find('\\') != std::string::npos)
    return "has a slash in it";
  if (name.front() == '.' || name.front() == ' ' || name.back() == ' ')
    return "begins with a dot or a space, or ends with a space";
  if (lower_case(name).ends_with(".dv")) return "ends like a classifier's file";
  if (lower_case(name) == "unknown") return "is the answer when a picture is in no class";
  return nullptr;
}

bool differ_only_in_case(const std::string& a, const std::string& b) {
  return a.size() == b.size() && a != b && lower_case(a) == lower_case(b);
}

}  // namespace

void check_class_name(const std::string& name, std::span<const std::string> classes) {
  if (const char* fault = fault_of(name))
    throw ProjectError(Refusal::invalid,
                       fmt::format("a class cannot be called '{}': the name {}; choose another",
                                   as_text_line(name), fault));
  for (const std::string& other : classes)
    if (differ_only_in_case(other, name))
      throw ProjectError(Refusal::invalid,
                         fmt::format("classes '{}' and '{}' would differ only in case; choose "
                                     "another name",
                                     other, name));
}

}  // namespace deepvoro
