#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace deepvoro {

// One number of the paper's tables. The columns of `main`, `joint`, `no_dist` and `with_dist` are
// data sets (mini, cub, tiered), as is that of `ablation_all` (mini); those of `backbone`,
// `precursor` and `cross` are networks, procedures and directions, all of them on mini. Rows are
// methods by their names here; those of `no_dist` and `with_dist` are what varies or the scheme.
struct PaperNumber {
  std::string_view table;
  std::string_view column;
  std::string_view row;
  std::size_t shots;
  double accuracy;             // percent
  std::optional<double> ci95;  // none where the paper gives none
};

[[nodiscard]] std::span<const PaperNumber> paper_numbers();
// nullptr where the paper has no such number.
[[nodiscard]] const PaperNumber* paper_number(std::string_view table, std::string_view column,
                                              std::string_view row, std::size_t shots);

// Minutes for 2000 episodes with 20 cores.
[[nodiscard]] std::optional<double> paper_minutes(std::string_view method, std::size_t members);

// The data set of the paper that a store belongs to by its name: cub, mini, tiered, or none.
[[nodiscard]] std::string_view dataset_of(std::string_view store);
[[nodiscard]] std::string_view dataset_title(std::string_view dataset);

}  // namespace deepvoro
