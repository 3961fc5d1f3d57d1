#include "eigenvectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

// sqrt(x^2 + y^2), which is not the same in every C library.
double length_of(double x, double y) {
  const double larger = std::max(std::abs(x), std::abs(y));
  if (larger == 0) return 0;
  const double a = x / larger;
  const double b = y / larger;
  return larger * std::sqrt(a * a + b * b);
}

// Implicit QR steps with Wilkinson's shift on a tridiagonal matrix, whose diagonal becomes its
// eigenvalues. The rotations are not applied to anything here: a matrix can take all of them in the
// end, some rows at a time, which then never leave the cache.
std::vector<kernels::Rotation> diagonalising(Eigen::VectorXd& diagonal,
                                             Eigen::VectorXd& subdiagonal) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  constexpr Index most_steps_per_value = 60;
  std::vector<kernels::Rotation> rotations;
  Index steps = 0;
  for (Index end = diagonal.size() - 1; end > 0;) {
    for (Index i = 0; i < end; ++i)
      if (std::abs(subdiagonal[i]) <= epsilon * (std::abs(diagonal[i]) + std::abs(diagonal[i + 1])))
        subdiagonal[i] = 0;
    while (end > 0 && subdiagonal[end - 1] == 0) --end;
    if (end == 0) break;
    if (++steps > most_steps_per_value * diagonal.size())
      throw internal_error("eigenvalues of base classes do not converge");
    Index start = end - 1;
    while (start > 0 && subdiagonal[start - 1] != 0) --start;

    const double half = (diagonal[end - 1] - diagonal[end]) / 2;
    const double e = subdiagonal[end - 1];
    const double root = length_of(half, e);
    const double shift = diagonal[end] - e * (e / (half + (half > 0 ? root : -root)));
    double x = diagonal[start] - shift;
    double z = subdiagonal[start];
    for (Index k = start; k < end && z != 0; ++k) {
      const double r = length_of(x, z);
      const double c = x / r;
      const double s = -z / r;
      rotations.push_back({c, s, static_cast<std::uint32_t>(k)});
      const double sdk = s * diagonal[k] + c * subdiagonal[k];
      const double dkp1 = s * subdiagonal[k] + c * diagonal[k + 1];
      diagonal[k] = c * (c * diagonal[k] - s * subdiagonal[k]) -
                    s * (c * subdiagonal[k] - s * diagonal[k + 1]);
      diagonal[k + 1] = s * sdk + c * dkp1;
      subdiagonal[k] = c * sdk - s * dkp1;
      if (k > start) subdiagonal[k - 1] = c * subdiagonal[k - 1] - s * z;
      x = subdiagonal[k];
      if (k < end - 1) {
        z = -s * subdiagonal[k + 1];
        subdiagonal[k + 1] *= c;
      }
    }
  }
  return rotations;
}

}  // namespace

Eigenvectors::Eigenvectors(const Dense& matrix) {
  fix_block_sizes();
  const Eigen::Tridiagonalization<Dense> tridiagonal(matrix);
  values_ = tridiagonal.diagonal();
  Eigen::VectorXd subdiagonal = tridiagonal.subDiagonal();
  rotations_ = diagonalising(values_, subdiagonal);
  basis_ = tridiagonal.matrixQ();
}

void Eigenvectors::turn(Dense& basis) const {
  std::vector<double> block(static_cast<std::size_t>(basis.cols()) * kernels::kPanel);
  for (Index first = 0; first < basis.rows(); first += index(kernels::kPanel)) {
    const Index count = std::min(index(kernels::kPanel), basis.rows() - first);
    for (Index j = 0; j < basis.cols(); ++j)
      for (Index r = 0; r < count; ++r)
        block[static_cast<std::size_t>(j) * kernels::kPanel + static_cast<std::size_t>(r)] =
            basis(first + r, j);
    kernels::matrix_kernels().rotate(rotations_.data(), rotations_.size(), block.data());
    for (Index j = 0; j < basis.cols(); ++j)
      for (Index r = 0; r < count; ++r)
        basis(first + r, j) =
            block[static_cast<std::size_t>(j) * kernels::kPanel + static_cast<std::size_t>(r)];
  }
}

}  // namespace deepvoro
