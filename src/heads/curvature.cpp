#include "heads/curvature.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/head_kernels.hpp"

namespace deepvoro {

Curvature::Curvature(MatrixView<const double> directions, std::size_t ways)
    : directions_(directions),
      ways_(ways),
      block_(coordinates(), coordinates()),
      factor_(ways * coordinates(), ways * coordinates()),
      row_(factor_.stride()),
      sums_(factor_.rows()),
      before_(directions.rows()),
      right_(factor_.stride()) {}

bool Curvature::measure(MatrixView<const float> samples, MatrixView<const float> probabilities) {
  if (weighted_.rows() < samples.rows()) weighted_ = Matrix<float>(samples.rows(), coordinates());
  std::fill_n(factor_.row(0), factor_.rows() * factor_.stride(), 0.0);
  for (std::size_t k = 0; k < ways_; ++k)
    for (std::size_t l = k; l < ways_; ++l) add_block(k, l, samples, probabilities);
  // No penalty is on the biases; whatever is common to all of them would have no curvature.
  constexpr double of_biases = 0.01;
  for (std::size_t i = 0; i < factor_.rows(); ++i)
    factor_.row(i)[i] += (i + 1) % coordinates() == 0 ? of_biases : 1;
  return factorise();
}

// sum_i p_ik ([k = l] - p_il) z_i z_i^T
void Curvature::add_block(std::size_t k, std::size_t l, MatrixView<const float> samples,
                          MatrixView<const float> probabilities) {
  const std::size_t size = coordinates();
  for (std::size_t i = 0; i < samples.rows(); ++i) {
    const float* p = probabilities.row(i);
    const float weight = p[k] * ((k == l ? 1.0F : 0.0F) - p[l]);
    for (std::size_t a = 0; a < size; ++a) weighted_.row(i)[a] = weight * samples.row(i)[a];
  }
  std::fill_n(block_.row(0), size * block_.stride(), 0.0F);
  kernels::head_kernels().add_products(weighted_.row(0), weighted_.stride(), size, samples.row(0),
                                       samples.rows(), samples.stride(), block_.stride(),
                                       block_.row(0), block_.stride());
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < (k == l ? a + 1 : size); ++b)
      factor_.row(l * size + a)[k * size + b] = static_cast<double>(block_.row(a)[b]);
}

bool Curvature::factorise() {
  const std::size_t size = factor_.rows();
  for (std::size_t j = 0; j < size; ++j) {
    std::fill(row_.begin(), row_.end(), 0.0);
    std::copy_n(factor_.row(j), j, row_.begin());
    kernels::head_kernels().dots(row_.data(), factor_.row(j), factor_.stride(), size - j, padded(j),
                                 sums_.data());
    const double squared = factor_.row(j)[j] - sums_[0];
    if (!(squared > 0)) return false;
    const double diagonal = std::sqrt(squared);
    factor_.row(j)[j] = diagonal;
    for (std::size_t i = j + 1; i < size; ++i)
      factor_.row(i)[j] = (factor_.row(i)[j] - sums_[i - j]) / diagonal;
  }
  return true;
}

void Curvature::solve() {
  const kernels::HeadTable& kernels = kernels::head_kernels();
  std::fill(row_.begin(), row_.end(), 0.0);
  for (std::size_t j = 0; j < factor_.rows(); ++j) {
    double before = 0;
    kernels.dots(row_.data(), factor_.row(j), 0, 1, padded(j), &before);
    row_[j] = (right_[j] - before) / factor_.row(j)[j];
  }
  for (std::size_t j = factor_.rows(); j-- > 0;) {
    row_[j] /= factor_.row(j)[j];
    kernels.add_multiple(-row_[j], factor_.row(j), j, row_.data());
  }
}

void Curvature::divide(double* gradient, std::size_t stride) {
  const kernels::HeadTable& kernels = kernels::head_kernels();
  const std::size_t count = directions_.rows();
  double* biases = gradient + ways_ * stride;
  for (std::size_t k = 0; k < ways_; ++k) {
    double* right = right_.data() + k * coordinates();
    kernels.dots(gradient + k * stride, directions_.row(0), directions_.stride(), count, stride,
                 right);
    right[count] = biases[k];
  }
  solve();
  for (std::size_t k = 0; k < ways_; ++k) {
    const std::size_t first = k * coordinates();
    for (std::size_t i = 0; i < count; ++i)
      kernels.add_multiple(row_[first + i] - right_[first + i], directions_.row(i), stride,
                           gradient + k * stride);
    biases[k] = row_[first + count];
  }
}

}  // namespace deepvoro
