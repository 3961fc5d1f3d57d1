#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepvoro {

[[nodiscard]] std::string base64(std::span<const std::byte> bytes);
// Nothing where the text is not base64 with its padding.
[[nodiscard]] std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace deepvoro
