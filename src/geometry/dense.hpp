#pragma once

// Nothing here may depend on the processor or on threads: what includes this is compiled for the
// baseline instruction set, and Eigen keeps to one thread.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <cstddef>

// Dense linear algebra in double, by Eigen, with the same bits on every processor.
namespace deepvoro {

using Dense = Eigen::MatrixXd;
using Index = Eigen::Index;

[[nodiscard]] inline Index index(std::size_t value) {
  return static_cast<Index>(value);
}

// To be called before anything that Eigen does in blocks: it would ask the processor for its caches
// and order its sums by them.
inline void fix_block_sizes() {
  static const bool once = [] {
    Eigen::setCpuCacheSizes(Index{32} << 10, Index{512} << 10, Index{4} << 20);
    return true;
  }();
  (void)once;
}

}  // namespace deepvoro
