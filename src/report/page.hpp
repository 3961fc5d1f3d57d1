#pragma once

#include <cstddef>
#include <string>

#include "report/document.hpp"

namespace deepvoro {

inline constexpr std::size_t kLargestPage = 1'500'000;  // bytes

// A document as one HTML file that needs nothing else. Where it would be larger than
// `largest`, the numbers of the figures that have the most of them are left out, which the page
// says.
[[nodiscard]] std::string page_html(const Document& document, std::size_t largest = kLargestPage);

}  // namespace deepvoro
