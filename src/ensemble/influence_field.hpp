#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "deepvoro/geometry/influence.hpp"

namespace deepvoro {

// The influence of every class on every query of some episodes, in double. Adding members is all an
// ensemble is. Different episodes may be added to and read by different threads at the same time.
class InfluenceField {
 public:
  InfluenceField(std::size_t episodes, const EpisodeShape& shape, Influence influence);

  // Adds a member's terms (distances to the power of alpha), [queries x ways], to an episode.
  void add(std::size_t episode, std::span<const double> terms);

  // The sums of terms of an episode, to be added to: [ways x queries], queries side by side, with
  // rows as long as padded(queries). What is behind the last query does not matter.
  [[nodiscard]] MatrixView<double> sums(std::size_t episode);

  // F itself, larger is nearer.
  void scores(std::size_t episode, std::span<double> out) const;
  [[nodiscard]] std::uint32_t correct_queries(std::size_t episode) const;

  [[nodiscard]] const EpisodeShape& shape() const { return shape_; }
  [[nodiscard]] static std::size_t values_per_episode(const EpisodeShape& shape) {
    return shape.total_queries() * shape.ways;
  }

 private:
  EpisodeShape shape_;
  Influence influence_;
  Matrix<double> sums_;  // [(episode, way) x queries]
};

// How many queries fall into the cell of their class, given terms or sums of terms [ways x
// queries], queries side by side.
template <class Real>
[[nodiscard]] std::uint32_t correct_queries(MatrixView<const Real> terms, const EpisodeShape& shape,
                                            Influence influence);

// A number of correct queries, out of those of `episodes` episodes, in percent.
[[nodiscard]] inline double percent_of_queries(std::uint64_t correct, const EpisodeShape& shape,
                                               std::size_t episodes = 1) {
  return 100.0 * static_cast<double>(correct) /
         static_cast<double>(episodes * shape.total_queries());
}

}  // namespace deepvoro
