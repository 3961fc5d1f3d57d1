#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/features/store.hpp"
#include "number_array.hpp"

namespace deepvoro {

// The class of each row, as a number. Where the file has names in place of numbers, `names` are
// those of 0, 1, ..., in alphabetical order.
struct RowLabels {
  std::vector<std::int64_t> values;
  std::vector<std::string> names = {};

  [[nodiscard]] std::string text(std::size_t row) const {
    return names.empty() ? std::to_string(values[row])
                         : names[static_cast<std::size_t>(values[row])];
  }
};

// Features as one file gives them: rows [rows, dim], all finite, and labels if the file has any.
struct FeatureTable {
  std::size_t rows = 0;
  std::size_t dim = 0;
  std::vector<float> values;  // row-major, without padding
  // float16 when every value came from a float16, and so goes back into one unchanged.
  ElementType element = ElementType::float16;
  std::optional<RowLabels> labels;

  [[nodiscard]] const float* row(std::size_t r) const { return values.data() + r * dim; }
};

// Arrays to look for in files that hold several; an empty name means the usual ones.
struct ArrayNames {
  std::string features;
  std::string labels;
};

// Adds the rows of a matrix, or a vector as one row. Errors name `where`, and count rows from
// `first_row` on.
void append_rows(const NumberArray& array, const std::string& where, std::size_t first_row,
                 FeatureTable& table);

// A vector of whole numbers, whatever their type.
[[nodiscard]] std::vector<std::int64_t> label_values(const NumberArray& array,
                                                     const std::string& where);
[[nodiscard]] RowLabels labels_by_name(const std::vector<std::string>& of_rows);

// The format is told by the file's ending; every byte of the file is checked before it is used.
[[nodiscard]] FeatureTable read_feature_table(const std::filesystem::path& file,
                                              const ArrayNames& names);
[[nodiscard]] RowLabels read_labels(const std::filesystem::path& file, const ArrayNames& names);

}  // namespace deepvoro
