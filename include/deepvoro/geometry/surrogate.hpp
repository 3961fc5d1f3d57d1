#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "deepvoro/core/export.hpp"
#include "deepvoro/geometry/geometry.hpp"

namespace deepvoro {

// Surrogate representation: beta d/|d|_1 + gamma d''/|d''|_1, where d are the distances from the
// prototypes and d''_k compares the distances of query and prototype k from the surrogate classes,
// the R base prototypes that are nearest to any prototype.
struct DEEPVORO_API Surrogate {
  std::size_t R = 1;
  double beta = 1;
  double gamma = 1;

  static constexpr std::string_view kName = "surrogate";
  static constexpr std::array<Parameter, 3> kParameters{
      {{.name = "R", .least = 1, .most = 1e15, .is_whole = true},
       {.name = "beta"},
       {.name = "gamma", .if_absent = 1}}};
  static Surrogate of(std::span<const double> values) {
    return {static_cast<std::size_t>(values[0]), values[1], values[2]};
  }
  [[nodiscard]] std::array<double, 3> values() const {
    return {static_cast<double>(R), beta, gamma};
  }
  bool operator==(const Surrogate&) const = default;

  static constexpr bool kNeedsBaseDistances = true;
  [[nodiscard]] std::size_t growth() const { return R; }
  // The last argument chooses the type.
  [[nodiscard]] std::unique_ptr<GeometryFit<float>> make_fit(float) const;
  [[nodiscard]] std::unique_ptr<GeometryFit<double>> make_fit(double) const;
  [[nodiscard]] std::unique_ptr<GeometryDistances<float>> make_distances(std::size_t classes,
                                                                         std::size_t queries,
                                                                         float) const;
  [[nodiscard]] std::unique_ptr<GeometryDistances<double>> make_distances(std::size_t classes,
                                                                          std::size_t queries,
                                                                          double) const;
};

}  // namespace deepvoro
