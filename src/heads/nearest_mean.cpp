#include "deepvoro/heads/nearest_mean.hpp"

#include <cmath>

#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {

void class_means(const Support& support, Matrix<double>& out) {
  if (out.rows() != support.ways || out.cols() != support.rows.cols())
    out = Matrix<double>(support.ways, support.rows.cols());
  std::vector<const double*> rows;
  for (std::size_t k = 0; k < support.ways; ++k) {
    rows.clear();
    for (std::size_t s = 0; s < support.size(k); ++s)
      rows.push_back(support.rows.row(support.begin(k) + s));
    kernels::mean(kernels::active(), rows.data(), rows.size(), out.stride(), out.row(k));
  }
}

void NearestMean::influence(const double* query, std::span<double> out) const {
  kernels::active().squared_distances_double(query, means_.row(0), means_.stride(), means_.rows(),
                                             means_.stride(), out.data());
  for (double& value : out) value = -std::sqrt(value);
}

}  // namespace deepvoro
