#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace deepvoro {

// ASCII letters alone.
[[nodiscard]] std::string lower_case(std::string text);

// A line that a terminal can show, whatever names of files it quotes: control characters become
// spaces, what is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string as_text_line(std::string text);

// Control characters as \xHH; the rest, be it UTF-8 or not, as it is.
[[nodiscard]] std::string with_control_characters_escaped(const std::string& text);

// UTF-8, not empty, without control characters: what may name a class or a picture.
[[nodiscard]] bool is_text_line(const std::string& text);

// "1 picture", "2 pictures"; `several` where the plural is not `one` and an s.
[[nodiscard]] std::string counted(std::size_t count, std::string_view one,
                                  std::string_view several = {});

// Names for a line of text; of many, the first ten.
[[nodiscard]] std::string listed(std::span<const std::string> names);

}  // namespace deepvoro
