#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace deepvoro {

// Hexadecimal SHA-256 of some bytes.
[[nodiscard]] std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace deepvoro
