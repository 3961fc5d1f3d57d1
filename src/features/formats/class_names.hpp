#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace deepvoro {

// Names of classes from a text file, one a line, or from a JSON list of strings. They are valid
// UTF-8, not empty, and all different.
[[nodiscard]] std::vector<std::string> read_class_names(const std::filesystem::path& file);

}  // namespace deepvoro
