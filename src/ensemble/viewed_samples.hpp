#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/ensemble/fitted.hpp"

namespace deepvoro {

// Throws a usage error where views, rows and labels do not fit together.
void check_samples(const ViewedSamples& samples);

// How many samples each class has; a class without any is a data error.
[[nodiscard]] std::vector<std::size_t> class_sizes(const ViewedSamples& samples);

[[nodiscard]] std::size_t place_of_view(const ViewedSamples& samples, const std::string& view);

// The length of a row; one that is not finite is a data error.
[[nodiscard]] double checked_norm(std::span<const float> row, std::vector<double>& scratch);

// Rows begin to end of the mean of some views.
[[nodiscard]] Matrix<float> mean_rows(std::span<const MatrixView<const float>> views,
                                      std::size_t begin, std::size_t end);

// The views that members name, which are the means of a network's views.
[[nodiscard]] std::vector<std::string> means_of(const Pool& members);

// The rows of the views of one network.
[[nodiscard]] std::vector<MatrixView<const float>> rows_of_network(
    std::span<const std::string> views, std::span<const MatrixView<const float>> rows,
    std::string_view network);

// Samples and, behind the others, the means of the views of networks.
class WithMeans {
 public:
  WithMeans(const ViewedSamples& samples, const std::vector<std::string>& means);
  [[nodiscard]] const ViewedSamples& samples() const { return samples_; }

 private:
  ViewedSamples samples_;
  std::vector<Matrix<float>> means_;
};

}  // namespace deepvoro
