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

// Every sample represented as one point; out: [samples x dim].
[[nodiscard]] Matrix<double> represented(const Representation& representation, ViewRows views,
                                         unsigned threads);
// One of them, a padded row.
[[nodiscard]] std::vector<double> represented(const Representation& representation, ViewRows views,
                                              std::size_t row);

// The rows of a matrix of points.
[[nodiscard]] std::vector<const double*> pointers_to(const Matrix<double>& points);

// The part of the mean of so many classes that is taken off points.
[[nodiscard]] double center_share(std::size_t classes);

// Represented samples as points of unit length around the classes of a support: made even by what
// is known of the network, and centred.
class PointSpace {
 public:
  // Not centred yet. `statistics` may be nullptr.
  PointSpace(double exponent, const BackboneStatistics* statistics);

  // Centres the space on the classes of represented samples, and places these in it.
  void fit(Matrix<double>& samples, std::span<const std::size_t> labels, std::size_t classes);
  // A padded row.
  void place(double* sample) const;

 private:
  void make_even(double* sample) const;
  void centre(double* sample) const;

  BackboneSpace space_;
  std::vector<double> center_;
};

// Represented samples as points that keep what they have in common, which says how strange they
// are: with the usual exponent, of unit length, neither mean nor center taken off.
class PlainSpace {
 public:
  explicit PlainSpace(const BackboneStatistics* statistics);

  void place(double* sample, std::size_t dim) const;

 private:
  BackboneSpace space_;
};

}  // namespace deepvoro
