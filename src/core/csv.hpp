#pragma once

#include <string>
#include <string_view>

namespace deepvoro {

// A field of a CSV file, in quotes where a comma, a quote or the end of a line is in it.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace deepvoro
