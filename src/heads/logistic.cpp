#include "deepvoro/heads/logistic.hpp"

#include <algorithm>
#include <cmath>

#include "deepvoro/heads/nearest_mean.hpp"
#include "deepvoro/kernels/head_kernels.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kBatch = 64;
constexpr double kRate = 0.01;

double power_of(double base, std::size_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 == 1) result *= base;
  return result;
}

kernels::AdamStep adam_step(std::size_t number) {
  kernels::AdamStep step;
  step.rate = kRate / (1 - power_of(step.keep_mean, number));
  step.root_scale = 1 / std::sqrt(1 - power_of(step.keep_square, number));
  return step;
}

void fill_with_zeros(Matrix<double>& matrix, std::size_t rows, std::size_t cols) {
  if (matrix.rows() != rows || matrix.cols() != cols)
    matrix = Matrix<double>(rows, cols);
  else
    std::fill_n(matrix.row(0), rows * matrix.stride(), 0.0);
}

}  // namespace

void tie_biases(MatrixView<const double> W, std::span<double> b) {
  for (std::size_t k = 0; k < W.rows(); ++k) {
    kernels::head_kernels().dots(W.row(k), W.row(k), 0, 1, W.stride(), &b[k]);
    b[k] /= -4;
  }
}

double LogisticObjective::evaluate(std::span<const double* const> rows,
                                   std::span<const std::size_t> labels, MatrixView<const double> W,
                                   std::span<double> b) {
  const kernels::HeadTable& kernels = kernels::head_kernels();
  const std::size_t ways = W.rows();
  if (residuals_.rows() != ways || residuals_.stride() != padded(rows.size()))
    residuals_ = Matrix<double>(ways, rows.size());
  log_sums_.resize(residuals_.stride());
  logits_.resize(ways);
  pull_.assign(ways, 0.0);
  bias_gradient_.assign(ways, 0.0);
  if (kind_ == LogisticKind::voronoi) tie_biases(W, b);

  double loss = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    kernels.dots(rows[i], W.row(0), W.stride(), ways, W.stride(), logits_.data());
    for (std::size_t k = 0; k < ways; ++k) residuals_.row(k)[i] = logits_[k] + b[k];
    loss -= residuals_.row(labels[i])[i];
  }
  kernels.softmax(residuals_.row(0), ways, residuals_.stride(), log_sums_.data());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    loss += log_sums_[i];
    residuals_.row(labels[i])[i] -= 1;
  }
  const auto count = static_cast<double>(rows.size());
  for (std::size_t k = 0; k < ways; ++k)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      residuals_.row(k)[i] /= count;
      bias_gradient_[k] += residuals_.row(k)[i];
    }
  // db_k/dW_k = -W_k/2 where b is tied.
  if (kind_ == LogisticKind::voronoi)
    for (std::size_t k = 0; k < ways; ++k) pull_[k] = -bias_gradient_[k] / 2;
  return loss / count;
}

void LogisticHead::fit(const Support& support) {
  start(support);
  std::size_t number = 0;
  for (std::size_t epoch = 0; epoch < epochs_; ++epoch)
    for (std::size_t begin = 0; begin < rows_.size(); begin += kBatch)
      step(++number, begin, std::min(begin + kBatch, rows_.size()));
  if (kind_ == LogisticKind::voronoi) tie_biases(W_.view(), b_);
}

void LogisticHead::start(const Support& support) {
  rows_.clear();
  labels_.clear();
  for (std::size_t s = 0; s < support.shots; ++s)
    for (std::size_t k = 0; k < support.ways; ++k) {
      rows_.push_back(support.rows.row(k * support.shots + s));
      labels_.push_back(k);
    }
  class_means(support, W_);
  for (std::size_t i = 0; i < W_.rows() * W_.stride(); ++i) W_.row(0)[i] *= 2;
  fill_with_zeros(mean_W_, W_.rows(), W_.cols());
  fill_with_zeros(square_W_, W_.rows(), W_.cols());
  b_.assign(padded(support.ways), 0.0);
  mean_b_.assign(padded(support.ways), 0.0);
  square_b_.assign(padded(support.ways), 0.0);
  tie_biases(W_.view(), b_);
}

void LogisticHead::step(std::size_t number, std::size_t begin, std::size_t end) {
  const std::span<const double* const> rows(rows_.data() + begin, end - begin);
  const std::span<const std::size_t> labels(labels_.data() + begin, end - begin);
  objective_.evaluate(rows, labels, W_.view(), b_);
  const kernels::AdamStep adam = adam_step(number);
  const kernels::HeadTable& kernels = kernels::head_kernels();
  kernels.adam_step(adam, rows.data(), rows.size(), objective_.residuals(0),
                    objective_.residual_stride(), objective_.pull().data(), W_.rows(), W_.stride(),
                    W_.row(0), mean_W_.row(0), square_W_.row(0));
  if (kind_ == LogisticKind::voronoi) return;
  std::vector<double>& gradient = bias_step_;
  gradient.assign(b_.size(), 0.0);
  std::ranges::copy(objective_.bias_gradient(), gradient.begin());
  const double* row = gradient.data();
  const double one = 1;
  const double nothing = 0;
  kernels.adam_step(adam, &row, 1, &one, 1, &nothing, 1, b_.size(), b_.data(), mean_b_.data(),
                    square_b_.data());
}

void LogisticHead::influence(const double* query, std::span<double> out) const {
  kernels::head_kernels().dots(query, W_.row(0), W_.stride(), W_.rows(), W_.stride(), out.data());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] += b_[k];
}

}  // namespace deepvoro
