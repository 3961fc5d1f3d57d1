#pragma once

#include <string_view>

// The files of src/report/assets, which the program carries inside.
namespace deepvoro::assets {

[[nodiscard]] std::string_view figure_css();
[[nodiscard]] std::string_view dark_css();
[[nodiscard]] std::string_view report_css();
[[nodiscard]] std::string_view report_js();

}  // namespace deepvoro::assets
