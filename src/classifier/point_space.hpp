#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/classifier/backbone_statistics.hpp"
#include "deepvoro/ensemble/fitted.hpp"
#include "features/representation.hpp"
#include "geometry/backbone_space.hpp"

namespace deepvoro {

// The same samples in several views, [samples x dim] each.
using ViewRows = std::span<const MatrixView<const float>>;

// Samples as points of unit length around the classes of a support: represented, made even by what
// is known of the network, and centred.
class PointSpace {
 public:
  // Not centred yet. `statistics` may be nullptr.
  PointSpace(double exponent, const BackboneStatistics* statistics);

  // Centres the space on the classes of the support, and gives its points.
  [[nodiscard]] Matrix<double> fit(const ViewedSamples& support, unsigned threads);
  // A padded row.
  [[nodiscard]] std::vector<double> point(ViewRows views, std::size_t row) const;

 private:
  void centre(double* point) const;
  // Represented and made even; out: padded(dim) elements.
  void map(ViewRows views, std::size_t row, double* out) const;

  Representation representation_;
  BackboneSpace space_;
  std::vector<double> center_;
};

// Samples as points that keep what they have in common, which says how strange they are: with the
// usual exponent, of unit length, neither mean nor center taken off.
class PlainSpace {
 public:
  explicit PlainSpace(const BackboneStatistics* statistics);

  [[nodiscard]] Matrix<double> points(ViewRows views, unsigned threads) const;
  [[nodiscard]] std::vector<double> point(ViewRows views, std::size_t row) const;

 private:
  void map(ViewRows views, std::size_t row, double* out) const;

  Representation representation_;
  BackboneSpace space_;
};

}  // namespace deepvoro
