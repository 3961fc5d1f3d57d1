#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/ensemble/fitted.hpp"

namespace deepvoro {

// What queries are turned into, in memory that the next group uses again.
template <class Real>
struct QueryScratch {
  std::vector<double> wide;
  Matrix<Real> rows;
  Matrix<Real> mapped;
  Matrix<Real> distances;
};
struct GroupScratch {
  QueryScratch<float> in_float;
  QueryScratch<double> in_double;

  template <class Real>
  [[nodiscard]] QueryScratch<Real>& of() {
    if constexpr (std::is_same_v<Real, float>)
      return in_float;
    else
      return in_double;
  }
};

// Members that see the same points, by growing growth().
class FittedEnsemble::Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  // The place of its view among those of the support; means are behind the last.
  [[nodiscard]] virtual std::size_t view() const = 0;
  // Adds the terms of queries, whose norms are given, to `sums`, [classes x queries].
  // `left_out_of`: the classes that the queries are samples of and are taken out of; empty where
  // they are not.
  virtual void add_terms(MatrixView<const float> queries, std::span<const double> norms,
                         std::span<const std::size_t> left_out_of, const Influence& influence,
                         GroupScratch& scratch, MatrixView<double> sums) const = 0;
};

// What members of a group have in common.
struct GroupSource {
  const ViewedSamples& support;
  const ViewedSamples* base;
  const SpaceProvider& spaces;
  std::span<const Member> members;
};

// In the precision of core/precision.hpp.
[[nodiscard]] std::unique_ptr<FittedEnsemble::Group> fit_group(const GroupSource& source);

}  // namespace deepvoro
