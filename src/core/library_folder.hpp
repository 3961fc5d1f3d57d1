#pragma once

#include <filesystem>

namespace deepvoro {

// The folder of the library that this code is in.
[[nodiscard]] std::filesystem::path library_folder();

}  // namespace deepvoro
