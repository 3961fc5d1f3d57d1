#pragma once

#include <string>

namespace deepvoro::serve {

// A text with every letter that has accents as one character (NFC of Unicode), as most systems
// write names; a Mac takes them apart. What is not UTF-8 stays as it is.
[[nodiscard]] std::string composed(const std::string& text);

}  // namespace deepvoro::serve
