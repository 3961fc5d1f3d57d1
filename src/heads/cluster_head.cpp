#include "heads/cluster_head.hpp"

#include <algorithm>
#include <vector>

#include "heads/nearest_mean.hpp"

namespace deepvoro {

void ClusterHead::fit(const Support& support) {
  fit_means(support, means_);
  logistic_.fit(support);
  const MatrixView<const double> W = logistic_.weights();
  Matrix<double>& centers = learned_.reshaped(W.rows(), W.cols());
  for (std::size_t k = 0; k < W.rows(); ++k)
    for (std::size_t i = 0; i < W.cols(); ++i) centers.row(k)[i] = W.row(k)[i] / 2;
}

void ClusterHead::influence(const double* query, std::span<double> out) const {
  std::ranges::fill(out, 0.0);
  add_terms(means_, query, out);
  add_terms(learned_, query, out);
  for (double& value : out) value *= influence_.sign();
}

void ClusterHead::add_terms(const VoronoiDiagram<double>& centers, const double* query,
                            std::span<double> out) const {
  std::vector<double> terms(out.size());
  centers.distances(query, terms);
  influence_.to_terms(terms);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] += terms[k];
}

}  // namespace deepvoro
