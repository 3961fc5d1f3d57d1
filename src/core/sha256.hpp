#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace deepvoro {

// Hexadecimal SHA-256 of some bytes.
[[nodiscard]] std::string sha256_hex(std::span<const std::byte> bytes);
[[nodiscard]] std::string sha256_hex(std::string_view text);

// "HASH  NAME", as sha256sum writes it; the hash of such lines is that of what they name.
[[nodiscard]] std::string sha256_line(std::span<const std::byte> bytes, std::string_view name);
[[nodiscard]] std::string sha256_line(std::string_view text, std::string_view name);

}  // namespace deepvoro
