#include "heads/nearest_mean.hpp"

#include <vector>

#include "kernels/kernels.hpp"

namespace deepvoro {

void class_means(const Support& support, Matrix<double>& out) {
  out.reshape(support.ways, support.rows.cols());
  std::vector<const double*> rows;
  for (std::size_t k = 0; k < support.ways; ++k) {
    rows.clear();
    for (std::size_t s = 0; s < support.size(k); ++s)
      rows.push_back(support.rows.row(support.begin(k) + s));
    kernels::mean(kernels::active(), rows.data(), rows.size(), out.stride(), out.row(k));
  }
}

void fit_means(const Support& support, VoronoiDiagram<double>& out) {
  class_means(support, out.reshaped(support.ways, support.rows.cols()));
}

void NearestMean::influence(const double* query, std::span<double> out) const {
  means_.distances(query, out);
  for (double& value : out) value = -value;
}

}  // namespace deepvoro
