#pragma once

#include <filesystem>
#include <string>

namespace deepvoro {

// Runs `npm pack` in a folder, which puts the package `<name>@<version>` there as a .tgz.
[[nodiscard]] std::filesystem::path npm_pack(const std::string& name, const std::string& version,
                                             const std::filesystem::path& folder);

}  // namespace deepvoro
