#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/geometry/geometry.hpp"
#include "deepvoro/geometry/surrogate.hpp"

namespace deepvoro {

// The surrogate classes of one episode for every R at once. The set of R contains that of R-1, so
// it is kept as the base classes that join at each R. Reuse an object to reuse its memory.
template <class Real>
class SurrogateClasses {
 public:
  // distances: [ways x base classes], of each prototype to each base prototype, padded rows. Ties
  // go to the smaller base index; an R above the number of base classes means all of them. Where
  // rounding leaves open which of two is nearer, `exact(way, base)` is asked for better distances.
  using ExactDistance = std::function<double(std::size_t way, std::size_t base)>;
  void select(MatrixView<const Real> distances, std::size_t largest_R, const ExactDistance& exact);

  // From this R on the set does not grow.
  [[nodiscard]] std::size_t levels() const { return levels_; }

  // The base classes that are in the set of the largest R, by the R at which they join.
  [[nodiscard]] std::span<const std::size_t> joined() const {
    return std::span(joined_).first(begin_[levels_]);
  }

  // Those in the set of R but not in that of R-1, ascending: a part of joined(). R from 1 on.
  [[nodiscard]] std::span<const std::size_t> joining_at(std::size_t R) const;

 private:
  void sort(std::span<const Real> distances);
  void settle_close_ones(std::span<const Real> distances, std::size_t way,
                         const ExactDistance& exact);

  // Scratch: the rank of each base class; base classes by distance; those whose order is doubtful.
  std::vector<std::uint32_t> ranks_;
  std::vector<std::size_t> order_;
  std::vector<std::pair<double, std::size_t>> close_;
  std::vector<std::size_t> joins_at_;  // for each base class, the R at which it joins
  std::size_t levels_ = 0;
  std::vector<std::size_t> joined_;    // base classes by joining R, then index
  std::vector<std::size_t> begin_{0};  // where in joined_ each R + 1 begins
  std::vector<std::size_t> next_;      // scratch: where in joined_ the next of R + 1 goes
};

template <class Real>
class SurrogateFit final : public GeometryFit<Real> {
 public:
  void fit(const CenterDistances<Real>& centers, const Geometry& last) override;

  [[nodiscard]] const SurrogateClasses<Real>& classes() const { return classes_; }
  [[nodiscard]] MatrixView<const Real> centers_to_base() const { return to_base_; }

 private:
  SurrogateClasses<Real> classes_;
  MatrixView<const Real> to_base_;
};

// For growing R. Queries lie side by side, so that they are computed together.
template <class Real>
class SurrogateDistances final : public GeometryDistances<Real> {
 public:
  SurrogateDistances(std::size_t classes, std::size_t queries);

  void begin(const GeometryFit<Real>& fit, const QueryDistances<Real>& queries) override;
  [[nodiscard]] MatrixView<const Real> of(const Geometry& member) override;

 private:
  void gather(std::span<const Real* const> queries_to_base);
  void grow_to(std::size_t R);

  const SurrogateFit<Real>* fit_ = nullptr;
  std::size_t grown_to_ = 0;
  bool shares_are_present_ = false;
  Matrix<Real> features_;  // d/|d|_1
  Matrix<Real> squared_;   // |d' - d'_k|^2 so far
  Matrix<Real> shares_;    // d''/|d''|_1 for the present R
  Matrix<Real> values_;
  Matrix<Real> scales_;           // 1/|d|_1
  Matrix<Real> of_queries_;       // [base classes that join x queries], distances
  std::vector<Real> of_centers_;  // [base classes that join x ways], the same
};

}  // namespace deepvoro
