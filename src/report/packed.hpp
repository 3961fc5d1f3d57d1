#pragma once

#include <string>
#include <string_view>

namespace deepvoro {

// Compressed by zlib, as base64: what a browser's DecompressionStream("deflate") makes text of
// again.
[[nodiscard]] std::string packed(std::string_view text);

}  // namespace deepvoro
