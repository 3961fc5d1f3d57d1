#include "deepvoro/heads/cluster_head.hpp"

#include <algorithm>
#include <cmath>

#include "deepvoro/heads/nearest_mean.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {

void ClusterHead::fit(const Support& support) {
  class_means(support, means_);
  logistic_.fit(support);
  const MatrixView<const double> W = logistic_.weights();
  if (learned_.rows() != W.rows() || learned_.cols() != W.cols())
    learned_ = Matrix<double>(W.rows(), W.cols());
  for (std::size_t k = 0; k < W.rows(); ++k)
    for (std::size_t i = 0; i < W.cols(); ++i) learned_.row(k)[i] = W.row(k)[i] / 2;
}

void ClusterHead::influence(const double* query, std::span<double> out) const {
  std::ranges::fill(out, 0.0);
  add_terms(means_, query, out);
  add_terms(learned_, query, out);
  for (double& value : out) value *= influence_.sign();
}

void ClusterHead::add_terms(const Matrix<double>& centers, const double* query,
                            std::span<double> out) const {
  for (std::size_t k = 0; k < centers.rows(); ++k) {
    double term = 0;
    kernels::active().squared_distances_double(query, centers.row(k), 0, 1, centers.stride(),
                                               &term);
    term = std::sqrt(term);
    influence_.to_terms({&term, 1});
    out[k] += term;
  }
}

}  // namespace deepvoro
