#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/features/store.hpp"

namespace deepvoro {

// What a network makes of classes that many samples are known of, for those who have a few of other
// classes: one two-covariance model of the rows of all views together, which serves any view. Each
// of its numbers is one of float16, so that it is the same from whatever file it comes; its axes
// are scaled to be at most 1, which does not affect points of one length.
struct DEEPVORO_API BackboneStatistics {
  Transform transform{.lambda = 0.5};
  Plda plda = {};
  PldaModel model;
  std::string network_sha256;  // of the model file; empty where it is not known
  std::size_t classes = 0;
  std::size_t samples = 0;  // a sample in several views counts once
  std::vector<std::string> views;

  bool operator==(const BackboneStatistics&) const = default;
  [[nodiscard]] std::size_t dim() const { return model.psi.size(); }

  // plda with this model on every view.
  [[nodiscard]] Pool pool(std::span<const std::string> of_views) const;
  // Whether a member is one of these.
  [[nodiscard]] bool fits(const Member& member) const;

  // Of the split base of each store; classes of one name are one class. The stores must hold
  // features of one network. Transformations are signed where a feature is negative.
  [[nodiscard]] static BackboneStatistics of(std::span<const FeatureStore> stores,
                                             const Plda& plda = {});

  // A file as docs/FORMATS.md describes it. What is damaged or of another kind is a data error.
  [[nodiscard]] static BackboneStatistics load(const std::filesystem::path& path);
  void save(const std::filesystem::path& file) const;
};

// Makes the statistics of a model file of stores and writes them beside it. A store whose features
// another model made is a data error; one that does not say is believed.
DEEPVORO_API BackboneStatistics write_statistics(const std::filesystem::path& model,
                                                 std::span<const FeatureStore> stores,
                                                 const Plda& plda);

// Where the statistics of a model file lie: beside it, `<name>.statistics`.
[[nodiscard]] DEEPVORO_API std::filesystem::path statistics_file(
    const std::filesystem::path& model);

}  // namespace deepvoro
