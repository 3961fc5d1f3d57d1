#pragma once

#include <string_view>

namespace deepvoro {

[[nodiscard]] std::string_view version();
[[nodiscard]] std::string_view commit();  // "unknown" when built outside a checkout

}  // namespace deepvoro
