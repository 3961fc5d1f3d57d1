#include "store_samples.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "deepvoro/core/error.hpp"

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

}  // namespace deepvoro
