#pragma once

#include <string>
#include <string_view>

namespace deepvoro {

// A field of a CSV file, in quotes where a comma or a quote is in it. Control characters, the end
// of a line too, become \xHH; what is not UTF-8 stays.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace deepvoro
