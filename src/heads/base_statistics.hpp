#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/features/store.hpp"

namespace deepvoro {

// The mean of all rows of the split base in one view, as they are in the store.
[[nodiscard]] std::vector<double> base_mean(const FeatureStore& store, const std::string& view,
                                            unsigned threads);

// Mean and covariance of every base class in one view, of the features as they are in the store.
// The covariance (with ddof 1) of a class of n rows is kept as its rows less the mean, divided by
// sqrt(n - 1): a sum of these with standard normal factors has just that covariance.
class BaseStatistics {
 public:
  BaseStatistics(const FeatureStore& store, const std::string& view, unsigned threads);

  [[nodiscard]] std::size_t classes() const { return means_.rows(); }
  [[nodiscard]] std::size_t dim() const { return means_.cols(); }
  [[nodiscard]] MatrixView<const double> means() const { return means_.view(); }
  [[nodiscard]] MatrixView<const float> deviations(std::size_t base_class) const {
    return {deviations_.row(begin_[base_class]), begin_[base_class + 1] - begin_[base_class],
            deviations_.cols(), deviations_.stride()};
  }
  [[nodiscard]] std::size_t largest_class() const;

  // Orthonormal directions along which the deviations of all classes vary most, and their dot
  // products with the deviations of a class.
  [[nodiscard]] MatrixView<const double> directions() const { return directions_.view(); }
  [[nodiscard]] MatrixView<const float> projections(std::size_t base_class) const {
    return {projections_.row(begin_[base_class]), begin_[base_class + 1] - begin_[base_class],
            projections_.cols(), projections_.stride()};
  }

 private:
  Matrix<double> means_;
  Matrix<float> deviations_;  // class by class
  Matrix<double> directions_;
  Matrix<float> projections_;
  std::vector<std::size_t> begin_;  // of each class in deviations_, and the end
};

}  // namespace deepvoro
