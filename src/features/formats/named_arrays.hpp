#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "feature_table.hpp"

namespace deepvoro {

// A file that holds arrays under names.
template <class File>
concept NamedArrays = requires(const File& file, const std::string& name) {
  { file.where() } -> std::convertible_to<std::string>;
  { file.has(name) } -> std::same_as<bool>;
  { file.names() } -> std::same_as<std::vector<std::string>>;
  { file.load(name) } -> std::same_as<LoadedArray>;
};

inline constexpr std::array<std::string_view, 6> kUsualFeatureNames{
    "features", "feats", "X", "x", "all_feats", "embeddings"};
inline constexpr std::array<std::string_view, 5> kUsualLabelNames{"labels", "y", "Y", "all_labels",
                                                                  "targets"};

// The wanted name, or the first usual one the file has; a wanted name that is missing is an error.
template <NamedArrays File>
std::optional<std::string> choose_array(const File& file, const std::string& wanted,
                                        std::span<const std::string_view> usual) {
  if (!wanted.empty()) {
    if (file.has(wanted)) return wanted;
    throw data_error(fmt::format("{}: has no array '{}'; it has: {}", file.where(), wanted,
                                 fmt::join(file.names(), ", ")));
  }
  for (const std::string_view name : usual)
    if (file.has(std::string(name))) return std::string(name);
  return std::nullopt;
}

template <NamedArrays File>
RowLabels load_labels(const File& file, const std::string& name) {
  if constexpr (requires { file.texts(name); })
    if (const auto texts = file.texts(name)) return labels_by_name(*texts);
  return {label_values(file.load(name).array, fmt::format("{}: '{}'", file.where(), name))};
}

template <NamedArrays File>
FeatureTable read_named_table(const File& file, const ArrayNames& names) {
  const auto features = choose_array(file, names.features, kUsualFeatureNames);
  if (!features)
    throw data_error(fmt::format(
        "{}: has none of the arrays {}; it has: {}; name one with `features` NAME or FILE::NAME",
        file.where(), fmt::join(kUsualFeatureNames, ", "), fmt::join(file.names(), ", ")));
  FeatureTable table;
  const LoadedArray loaded = file.load(*features);
  const std::string where = fmt::format("{}: '{}'", file.where(), *features);
  if (loaded.array.shape.size() != 2)
    throw data_error(fmt::format("{}: has shape {}; features are a matrix [samples, dimensions]",
                                 where, shape_text(loaded.array.shape)));
  append_rows(loaded.array, where, 0, table);
  if (const auto labels = choose_array(file, names.labels, kUsualLabelNames))
    table.labels = load_labels(file, *labels);
  return table;
}

template <NamedArrays File>
RowLabels read_named_labels(const File& file, const ArrayNames& names) {
  const auto labels = choose_array(file, names.labels, kUsualLabelNames);
  if (!labels)
    throw data_error(fmt::format(
        "{}: has none of the arrays {}; it has: {}; name one with `labels` NAME or FILE::NAME",
        file.where(), fmt::join(kUsualLabelNames, ", "), fmt::join(file.names(), ", ")));
  return load_labels(file, *labels);
}

}  // namespace deepvoro
