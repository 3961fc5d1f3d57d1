#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

// All text becomes JSON here: the parser is a large template, compiled once, and text from
// elsewhere may be nested so deeply that a stack would overflow, or have a key twice; such text
// counts as broken.
namespace deepvoro {

// A JSON file, with a data error that names the file and the place when it is broken.
[[nodiscard]] nlohmann::json read_json(const std::filesystem::path& file);

// A discarded value, which is of no type, where the text is broken.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

// A document as it stands in a file. What is not UTF-8, a path perhaps, is replaced.
[[nodiscard]] std::string json_text(const nlohmann::json& document);
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document);

}  // namespace deepvoro
