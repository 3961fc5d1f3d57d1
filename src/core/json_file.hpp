#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace deepvoro {

// A JSON file, with a data error that names the file and the place when it is broken.
[[nodiscard]] nlohmann::json read_json(const std::filesystem::path& file);

// A document as it stands in a file. What is no UTF-8, a path perhaps, is replaced.
template <class Json>
[[nodiscard]] std::string json_text(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace deepvoro
