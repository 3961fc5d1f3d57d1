#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace deepvoro {

// What a .gz file holds. More than `limit` bytes, or a damaged file, are a data error.
[[nodiscard]] std::string gunzip(std::span<const std::byte> bytes, std::size_t limit,
                                 const std::string& where);

}  // namespace deepvoro
