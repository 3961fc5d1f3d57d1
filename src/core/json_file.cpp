#include "json_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/files.hpp"

namespace deepvoro {

nlohmann::json read_json(const std::filesystem::path& file) {
  using nlohmann::json;
  try {
    return json::parse(read_text(file));
  } catch (const json::parse_error& error) {
    throw data_error(fmt::format("{}: is broken JSON at byte {}", file.string(), error.byte));
  } catch (const json::out_of_range&) {
    throw data_error(fmt::format("{}: holds a number that is out of range", file.string()));
  }
}

}  // namespace deepvoro
