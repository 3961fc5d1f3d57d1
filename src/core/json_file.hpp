#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace deepvoro {

// A JSON file, with a data error that names the file and the place when it is broken.
[[nodiscard]] nlohmann::json read_json(const std::filesystem::path& file);

}  // namespace deepvoro
