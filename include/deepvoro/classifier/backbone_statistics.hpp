#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/geometry/backbone_space.hpp"

namespace deepvoro {

// A sample is one point in all its views: its features to one of these powers (docs/METHODS.md,
// ridge-vd). The first is the usual one.
inline constexpr std::array kPointExponents{0.75, 0.5};

// One two-covariance model of the rows of all views together, which serves any view. Its axes are
// scaled to be at most 1, which does not affect points of one length.
struct DEEPVORO_API PldaStatistics {
  Transform transform{.lambda = 0.5};
  Plda plda = {};
  PldaModel model;

  bool operator==(const PldaStatistics&) const = default;
  // plda with this model on every view.
  [[nodiscard]] Pool pool(std::span<const std::string> of_views) const;
};

// What a network makes of classes that many samples are known of, for those who have a few of other
// classes. Means, directions and models are numbers of float16, so that they are the same from
// whatever file they come.
struct DEEPVORO_API BackboneStatistics {
  std::array<SpaceStatistics, kPointExponents.size()> spaces;  // of each exponent
  // How much products of points of different classes deviate from their mean in these spaces;
  // nothing where it was not measured.
  std::array<std::optional<double>, kPointExponents.size()> likeness_deviations = {};
  std::optional<PldaStatistics> plda = {};  // of dim * dim numbers
  std::string network_sha256;               // of the model file; empty where it is not known
  std::size_t classes = 0;
  std::size_t samples = 0;         // a sample in several views counts once
  std::vector<std::string> views;  // empty where it is not known which

  bool operator==(const BackboneStatistics&) const = default;
  [[nodiscard]] std::size_t dim() const { return spaces.front().dim(); }

  // Of the split base of each store; classes of one name are one class. The stores must hold
  // features of one network. With `plda` the two-covariance model is made as well; its
  // transformation is signed where a feature is negative.
  [[nodiscard]] static BackboneStatistics of(std::span<const FeatureStore> stores,
                                             const std::optional<Plda>& plda = {});

  // A file as docs/FORMATS.md describes it. What is damaged or of another kind is a data error.
  [[nodiscard]] static BackboneStatistics load(const std::filesystem::path& path);
  void save(const std::filesystem::path& file) const;
};

// Makes the statistics of a model file of stores and writes them beside it. A store whose features
// another model made is a data error; one that does not say is believed.
DEEPVORO_API BackboneStatistics write_statistics(const std::filesystem::path& model,
                                                 std::span<const FeatureStore> stores,
                                                 const std::optional<Plda>& plda);

// Where the statistics of a model file lie: beside it, `<name>.statistics`.
[[nodiscard]] DEEPVORO_API std::filesystem::path statistics_file(
    const std::filesystem::path& model);

// The statistics of the network of this hash, among those that lie beside `model`, in the user's
// folder of backbones and with the program; nullptr where there are none.
[[nodiscard]] DEEPVORO_API std::shared_ptr<const BackboneStatistics> statistics_of_network(
    const std::string& sha256, const std::filesystem::path& model = {});

}  // namespace deepvoro
