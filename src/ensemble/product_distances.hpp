#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {

// Distances of many points from many, by dot products. Few centers or short rows gain nothing
// from it.
class ProductDistances {
 public:
  ProductDistances() = default;
  explicit ProductDistances(const Matrix<float>& centers) : norms_(centers.rows()) {
    for (std::size_t k = 0; k < centers.rows(); ++k) {
      centers_.push_back(centers.row(k));
      kernels::add_squared_norm(kernels::active(), centers.row(k), centers.stride(), &norms_[k]);
    }
  }
  static bool pays(std::size_t centers, std::size_t dim) { return centers >= 16 && dim >= 64; }

  [[nodiscard]] bool in_use() const { return !centers_.empty(); }

  // distances: [count x centers]
  void operator()(const Matrix<float>& rows, std::size_t count, Matrix<float>& distances) const {
    const kernels::Table& table = kernels::active();
    Matrix<float> dots(centers_.size(), count);
    std::vector<const float*> queries;
    std::vector<float> query_norms(count);
    for (std::size_t q = 0; q < count; ++q) {
      queries.push_back(rows.row(q));
      kernels::add_squared_norm(table, rows.row(q), rows.stride(), &query_norms[q]);
    }
    kernels::add_dots(table, kernels::DotProducts<float>{.queries = queries.data(),
                                                         .query_count = count,
                                                         .centers = centers_.data(),
                                                         .center_count = centers_.size(),
                                                         .length = rows.stride(),
                                                         .out = dots.row(0),
                                                         .center_stride = dots.stride()});
    std::vector<float> norms(count);
    std::vector<float> found(count);
    for (std::size_t k = 0; k < centers_.size(); ++k) {
      for (std::size_t q = 0; q < count; ++q) norms[q] = query_norms[q] + norms_[k];
      if (kernels::distances(table, norms.data(), dots.row(k), count, found.data()))
        take_differences(queries, k, rows.stride(), norms, dots.row(k), found);
      for (std::size_t q = 0; q < count; ++q) distances.row(q)[k] = found[q];
    }
  }

 private:
  void take_differences(const std::vector<const float*>& queries, std::size_t k, std::size_t length,
                        const std::vector<float>& norms, const float* dots,
                        std::vector<float>& found) const {
    for (std::size_t q = 0; q < queries.size(); ++q) {
      if (!kernels::loses_digits(norms[q], dots[q])) continue;
      double squared = 0;
      kernels::squared_distances(kernels::active(), queries[q], centers_[k], length, 1, length,
                                 &squared);
      found[q] = static_cast<float>(std::sqrt(squared));
    }
  }

  std::vector<const float*> centers_;
  std::vector<float> norms_;
};

}  // namespace deepvoro
