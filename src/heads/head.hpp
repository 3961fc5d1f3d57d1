#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/matrix.hpp"

namespace deepvoro {

// Labelled rows, class by class, `shots` of each class. Rows are padded as core/matrix.hpp says.
struct Support {
  MatrixView<const double> rows;
  std::size_t ways = 0;
  std::size_t shots = 0;     // of each class; of the largest where `begins` is given
  std::uint32_t stream = 0;  // which random numbers a head that needs some takes: the episode
  // Where classes have different sizes, the first row of each, and the end. NearestMean and
  // LogisticHead take such classes.
  std::span<const std::size_t> begins;

  [[nodiscard]] std::size_t begin(std::size_t way) const {
    return begins.empty() ? way * shots : begins[way];
  }
  [[nodiscard]] std::size_t size(std::size_t way) const { return begin(way + 1) - begin(way); }
  [[nodiscard]] std::size_t label(std::size_t row) const { return row / shots; }
};

// A head is what is fitted on a support set and then asked about queries. Requirements:
//   head.fit(support)           forgets what it was fitted on before, but keeps its memory
//   head.influence(query, out)  out[k] = score of class k, larger is nearer; `query` is a padded
//   row
// The result of a fit depends on the support alone. A head belongs to one thread; after a fit,
// several may ask it. Models: NearestMean, LogisticHead, ClusterHead, CosineHead,
// CalibratedHead.
template <class T>
concept Head = requires(T& head, const T& fitted, const Support& support, const double* query,
                        std::span<double> out) {
  head.fit(support);
  fitted.influence(query, out);
};

}  // namespace deepvoro
