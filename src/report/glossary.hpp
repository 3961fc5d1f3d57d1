#pragma once

#include <string>

namespace deepvoro {

// What the words of a report mean, to unfold.
[[nodiscard]] std::string glossary_html();

}  // namespace deepvoro
