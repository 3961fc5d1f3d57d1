#include "store_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "deepvoro/core/error.hpp"
#include "features/formats/feature_table.hpp"

namespace deepvoro {

void check_one_network(const FeatureStore& store) {
  if (store.networks().size() > 1)
    throw data_error(
        fmt::format("{}: has features of {} networks, but a classifier is of one; use the store of "
                    "one of them",
                    store.folder().string(), store.networks().size()));
}

NamedSamples read_samples(const FeatureStore& store, const std::string& split,
                          const std::vector<std::string>& views,
                          const std::optional<std::string>& class_name) {
  check_one_network(store);
  NamedSamples samples{.classes = store.split(split).classes,
                       .dim = store.dim(store.views().front())};
  std::vector<std::size_t> labels = store.labels(split);
  std::vector<std::size_t> wanted;
  if (class_name) {
    const auto found = std::ranges::find(samples.classes, *class_name);
    if (found == samples.classes.end())
      throw data_error(fmt::format("{}, split {}: has no class '{}'", store.folder().string(),
                                   split, *class_name),
                       ErrorCode::missing_class);
    const auto label = static_cast<std::size_t>(found - samples.classes.begin());
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] == label) wanted.push_back(i);
    labels.assign(wanted.size(), 0);
    samples.classes = {*class_name};
  } else {
    for (std::size_t i = 0; i < labels.size(); ++i) wanted.push_back(i);
  }
  samples.labels = std::move(labels);
  for (const std::string& view : views) {
    if (!store.has_view(view))
      throw data_error(
          fmt::format("{}: has no view '{}', which is needed", store.folder().string(), view));
    const FeatureRows rows = store.features(split, view);
    std::vector<float>& values = samples.views.emplace_back(wanted.size() * samples.dim);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      rows.copy_row(wanted[i], std::span(values).subspan(i * samples.dim, samples.dim));
  }
  return samples;
}

namespace {

// All views of one sample, side by side.
std::vector<float> row_of(const NamedSamples& samples, std::size_t i) {
  std::vector<float> row;
  for (const std::vector<float>& view : samples.views) {
    const auto part = std::span(view).subspan(i * samples.dim, samples.dim);
    row.insert(row.end(), part.begin(), part.end());
  }
  return row;
}

}  // namespace

NamedSamples new_among(const NamedSamples& samples, const NamedSamples& known) {
  std::set<std::vector<float>> rows;
  for (std::size_t i = 0; i < known.labels.size(); ++i)
    if (known.classes[known.labels[i]] == samples.classes.front()) rows.insert(row_of(known, i));
  NamedSamples rest{.classes = samples.classes, .dim = samples.dim};
  rest.views.resize(samples.views.size());
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    if (rows.contains(row_of(samples, i))) continue;
    rest.labels.push_back(0);
    for (std::size_t v = 0; v < samples.views.size(); ++v) {
      const auto part = std::span(samples.views[v]).subspan(i * samples.dim, samples.dim);
      rest.views[v].insert(rest.views[v].end(), part.begin(), part.end());
    }
  }
  return rest;
}

namespace {

std::optional<FeatureTable> table_of_all_views(const std::filesystem::path& file) {
  try {
    return read_feature_table(file, {});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data || error.code() != ErrorCode::none) throw;
    return std::nullopt;  // perhaps it has an array per view
  }
}

}  // namespace

NamedSamples read_rows(const std::filesystem::path& file, const std::vector<std::string>& views,
                       std::size_t dim) {
  NamedSamples rows{.classes = {}, .labels = {}, .names = {}, .views = {}, .dim = dim};
  rows.views.resize(views.size());
  if (const auto table = table_of_all_views(file)) {
    if (table->dim != views.size() * dim)
      throw data_error(fmt::format(
          "{}: has {} features per row, and the classifier needs {}{}", file.string(), table->dim,
          views.size() * dim,
          views.size() == 1 ? std::string()
                            : fmt::format(", {} of each of its {} views", dim, views.size())));
    for (std::size_t v = 0; v < views.size(); ++v)
      for (std::size_t r = 0; r < table->rows; ++r)
        rows.views[v].insert(rows.views[v].end(), table->row(r) + v * dim,
                             table->row(r) + (v + 1) * dim);
    return rows;
  }
  for (std::size_t v = 0; v < views.size(); ++v) {
    const FeatureTable table = read_feature_table(file, {views[v], {}});
    if (table.dim != dim)
      throw data_error(fmt::format("{}: '{}' has {} features per row, and the classifier needs {}",
                                   file.string(), views[v], table.dim, dim));
    rows.views[v] = table.values;
    if (rows.views[v].size() != rows.views[0].size())
      throw data_error(fmt::format("{}: '{}' has another number of rows than '{}'", file.string(),
                                   views[v], views[0]));
  }
  return rows;
}

}  // namespace deepvoro
