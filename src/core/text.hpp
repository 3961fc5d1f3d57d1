#pragma once

#include <string>

namespace deepvoro {

// ASCII letters alone.
[[nodiscard]] std::string lower_case(std::string text);

// A line that a terminal can show, whatever names of files it quotes: control characters become
// spaces, what is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string as_text_line(std::string text);

// UTF-8, not empty, without control characters: what may name a class or a picture.
[[nodiscard]] bool is_text_line(const std::string& text);

}  // namespace deepvoro
