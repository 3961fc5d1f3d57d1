#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/geometry/geometry.hpp"

namespace deepvoro {

// What base classes teach: with the mean of their class means taken off, along these axes samples
// have the variance 1 around the center of their class, and class centers the variances psi.
struct PldaModel {
  std::vector<double> mean;
  std::vector<double> psi;   // above 0
  std::vector<double> axes;  // [dim x dim], one after the other

  bool operator==(const PldaModel&) const = default;
};

// Two-covariance geometry: class centers are Gaussian around the mean of all base classes, samples
// are Gaussian around the center of their class, and both covariances are those of the base
// classes. Points are whitened rows of one length; a center is drawn towards the mean of the base
// classes, the more the fewer samples it is the mean of, and distances say how likely a query is.
struct DEEPVORO_API Plda {
  // How much of each covariance is replaced by a multiple of the identity.
  double shrink_within = 0.5;
  double shrink_between = 0.4;
  double kappa = 1;  // divides the covariance of class centers

  static constexpr std::string_view kName = "plda";
  static constexpr std::array<Parameter, 3> kParameters{
      {{.name = "shrink_within", .most = 1},
       {.name = "shrink_between", .most = 1},
       {.name = "kappa", .least = 1e-6, .if_absent = 1}}};
  static Plda of(std::span<const double> values) { return {values[0], values[1], values[2]}; }
  [[nodiscard]] std::array<double, 3> values() const {
    return {shrink_within, shrink_between, kappa};
  }
  bool operator==(const Plda&) const = default;

  // Throws a data error where base rows do not tell what classes are: one class, no class of more
  // than one row, rows that are all equal. kappa has no part in it.
  [[nodiscard]] PldaModel model(const BaseRows& base) const;
  [[nodiscard]] std::shared_ptr<const Space> space(const PldaModel& model) const;
  [[nodiscard]] std::shared_ptr<const Space> space(const BaseRows& base) const {
    return space(model(base));
  }
};

}  // namespace deepvoro
