#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "deepvoro/classifier/backbone_statistics.hpp"
#include "features/formats/number_array.hpp"

// Statistics as they stand in files: a description, and arrays of float16.
namespace deepvoro {

[[nodiscard]] nlohmann::ordered_json describe(const BackboneStatistics& statistics);

struct StatisticsArray {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<float> values;
};
[[nodiscard]] std::vector<StatisticsArray> arrays_of(const BackboneStatistics& statistics);

// What was described. `read` is asked for the arrays by name, in the order of arrays_of(); `where`
// names the place in errors.
using ArrayReader = std::function<LoadedArray(const std::string& name)>;
[[nodiscard]] BackboneStatistics statistics_of(const nlohmann::json& description,
                                               const ArrayReader& read, const std::string& where);

}  // namespace deepvoro
