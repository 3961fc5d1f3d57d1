#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "number_array.hpp"

namespace deepvoro {

// The array that .npy bytes hold; it lies within them.
[[nodiscard]] NumberArray npy_array(std::span<const std::byte> bytes, const std::string& where);

[[nodiscard]] LoadedArray load_npy(const std::filesystem::path& file);

}  // namespace deepvoro
