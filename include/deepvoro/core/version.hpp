#pragma once

#include <string_view>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

[[nodiscard]] DEEPVORO_API std::string_view version();
[[nodiscard]] DEEPVORO_API std::string_view commit();  // "unknown" when built outside a checkout

}  // namespace deepvoro
