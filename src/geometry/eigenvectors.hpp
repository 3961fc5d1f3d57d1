#pragma once

#include <vector>

#include "dense.hpp"
#include "kernels/matrix_kernels.hpp"

namespace deepvoro {

// The eigenvalues and eigenvectors of a symmetric matrix, whose lower half is read.
class Eigenvectors {
 public:
  explicit Eigenvectors(const Dense& matrix);

  [[nodiscard]] const Eigen::VectorXd& values() const { return values_; }  // in no order
  // An orthogonal matrix; turned, its columns are the eigenvectors. What is multiplied with it from
  // the left can be turned as well.
  [[nodiscard]] const Dense& basis() const { return basis_; }
  void turn(Dense& basis) const;

 private:
  Eigen::VectorXd values_;
  Dense basis_;
  std::vector<kernels::Rotation> rotations_;
};

}  // namespace deepvoro
