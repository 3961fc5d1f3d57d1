#pragma once

#include <string>

namespace deepvoro {

// ASCII letters alone.
[[nodiscard]] std::string lower_case(std::string text);

// UTF-8, not empty, without control characters: what may name a class or a picture.
[[nodiscard]] bool is_text_line(const std::string& text);

}  // namespace deepvoro
