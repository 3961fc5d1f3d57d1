#include "heads/logistic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/precision.hpp"
#include "core/random.hpp"
#include "core/whole_power.hpp"
#include "heads/nearest_mean.hpp"
#include "kernels/head_kernels.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kBatch = 64;
constexpr double kRate = 0.01;

kernels::AdamStep adam_of(std::size_t number) {
  kernels::AdamStep step;
  step.rate = kRate / (1 - whole_power(step.keep_mean, number));
  step.root_scale = 1 / std::sqrt(1 - whole_power(step.keep_square, number));
  return step;
}

auto adam_step(float /*selects*/) {
  return kernels::head_kernels().adam_step_float;
}
auto adam_step(double /*selects*/) {
  return kernels::head_kernels().adam_step_double;
}

template <class Real>
void reshape(Matrix<Real>& matrix, std::size_t rows, std::size_t cols) {
  if (matrix.rows() != rows || matrix.cols() != cols) matrix = Matrix<Real>(rows, cols);
}

template <class Real>
void fill_with_zeros(Matrix<Real>& matrix) {
  std::fill_n(matrix.row(0), matrix.rows() * matrix.stride(), Real{0});
}

}  // namespace

void tie_biases(MatrixView<const double> W, std::span<double> b) {
  for (std::size_t k = 0; k < W.rows(); ++k) {
    kernels::head_kernels().dots(W.row(k), W.row(k), 0, 1, W.stride(), &b[k]);
    b[k] /= -4;
  }
}

void tie_biases(MatrixView<const float> W, std::span<double> b) {
  std::array<float, 64> squared_norms;
  for (std::size_t first = 0; first < W.rows(); first += squared_norms.size()) {
    const std::size_t count = std::min(squared_norms.size(), W.rows() - first);
    kernels::head_kernels().squared_norms(W.row(first), W.stride(), count, W.stride(),
                                          squared_norms.data());
    for (std::size_t k = 0; k < count; ++k)
      b[first + k] = -static_cast<double>(squared_norms[k]) / 4;
  }
}

// The probabilities of two classes with the logits x and 0 are sigmoid(x) and its complement.
template <class Real>
void LogisticObjective<Real>::to_sigmoids() {
  const std::size_t count = probabilities_.rows() * probabilities_.stride();
  reshape(sigmoids_, 2, count);
  std::copy_n(probabilities_.row(0), count, sigmoids_.row(0));
  std::fill_n(sigmoids_.row(1), count, 0.0);
  kernels::head_kernels().softmax(sigmoids_.row(0), 2, sigmoids_.stride(), nullptr);
  std::copy_n(sigmoids_.row(0), count, probabilities_.row(0));
}

template <class Real>
void LogisticObjective<Real>::to_logits(std::span<const Real* const> rows, MatrixView<const Real> W,
                                        std::span<double> b) {
  const std::size_t ways = W.rows();
  const std::size_t count = rows.size();
  if (residuals_.rows() != ways || residuals_.cols() != count) {
    residuals_ = Matrix<Real>(ways, count);
    probabilities_ = Matrix<double>(ways, count);
  }
  logits_.assign(count * ways, Real{0});
  if (options_.kind == LogisticKind::voronoi) tie_biases(W, b);

  weight_rows_.clear();
  for (std::size_t k = 0; k < ways; ++k) weight_rows_.push_back(W.row(k));
  kernels::add_dots(kernels::active(), kernels::DotProducts<Real>{.queries = rows.data(),
                                                                  .query_count = count,
                                                                  .centers = weight_rows_.data(),
                                                                  .center_count = ways,
                                                                  .length = W.stride(),
                                                                  .out = logits_.data(),
                                                                  .center_stride = count});
  for (std::size_t k = 0; k < ways; ++k)
    for (std::size_t i = 0; i < count; ++i)
      probabilities_.row(k)[i] = static_cast<double>(logits_[k * count + i]) + b[k];
  if (options_.sigmoid) to_sigmoids();
}

template <class Real>
void LogisticObjective<Real>::to_residuals(std::span<const std::size_t> labels,
                                           std::span<const double> b) {
  const std::size_t ways = probabilities_.rows();
  const std::size_t count = labels.size();
  pull_.assign(ways, Real{0});
  bias_gradient_.assign(ways, 0.0);
  for (std::size_t i = 0; i < count; ++i) probabilities_.row(labels[i])[i] -= 1;
  const bool is_tied = options_.kind == LogisticKind::voronoi;
  const auto share = static_cast<double>(count);
  for (std::size_t k = 0; k < ways; ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      double residual = probabilities_.row(k)[i] / share;
      if (options_.sigmoid) {
        const std::size_t place = k * probabilities_.stride() + i;
        residual *= sigmoids_.row(0)[place] * sigmoids_.row(1)[place];
      }
      bias_gradient_[k] += residual;
      residuals_.row(k)[i] = static_cast<Real>(residual);
    }
    // db_k/dW_k = -W_k/2 where b is tied.
    pull_[k] = static_cast<Real>(options_.weight_decay - (is_tied ? bias_gradient_[k] / 2 : 0));
    if (!is_tied) bias_gradient_[k] += options_.weight_decay * b[k];
  }
}

template <class Real>
void LogisticObjective<Real>::differentiate(std::span<const Real* const> rows,
                                            std::span<const std::size_t> labels,
                                            MatrixView<const Real> W, std::span<double> b) {
  to_logits(rows, W, b);
  kernels::head_kernels().softmax(probabilities_.row(0), W.rows(), probabilities_.stride(),
                                  nullptr);
  to_residuals(labels, b);
}

template <class Real>
double LogisticObjective<Real>::evaluate(std::span<const Real* const> rows,
                                         std::span<const std::size_t> labels,
                                         MatrixView<const Real> W, std::span<double> b) {
  to_logits(rows, W, b);
  double loss = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) loss -= probabilities_.row(labels[i])[i];
  std::vector<double> log_sums(probabilities_.stride());
  kernels::head_kernels().softmax(probabilities_.row(0), W.rows(), probabilities_.stride(),
                                  log_sums.data());
  for (std::size_t i = 0; i < labels.size(); ++i) loss += log_sums[i];
  to_residuals(labels, b);
  return loss / static_cast<double>(labels.size());
}

template <class Real>
void LogisticTraining<Real>::run(const Support& support, Matrix<double>& W, std::span<double> b) {
  start(support, W);
  std::size_t number = 0;
  for (std::size_t epoch = 0; epoch < options_.epochs; ++epoch)
    for (std::size_t begin = 0; begin < row_pointers_.size(); begin += kBatch)
      step(++number, begin, std::min(begin + kBatch, row_pointers_.size()), b);
  for (std::size_t i = 0; i < W.rows() * W.stride(); ++i)
    W.row(0)[i] = static_cast<double>(weights_.row(0)[i]);
  if (options_.kind == LogisticKind::voronoi) tie_biases(W.view(), b);
}

template <class Real>
void LogisticTraining<Real>::start(const Support& support, const Matrix<double>& W) {
  const std::size_t dim = W.cols();
  reshape(rows_, support.rows.rows(), dim);
  row_pointers_.clear();
  labels_.clear();
  for (std::size_t s = 0; s < support.shots; ++s)
    for (std::size_t k = 0; k < support.ways; ++k) {
      if (s >= support.size(k)) continue;
      const double* from = support.rows.row(support.begin(k) + s);
      Real* to = rows_.row(row_pointers_.size());
      for (std::size_t i = 0; i < dim; ++i) to[i] = static_cast<Real>(from[i]);
      row_pointers_.push_back(to);
      labels_.push_back(k);
    }
  reshape(weights_, W.rows(), dim);
  reshape(mean_, W.rows(), dim);
  reshape(square_, W.rows(), dim);
  for (std::size_t i = 0; i < W.rows() * W.stride(); ++i)
    weights_.row(0)[i] = static_cast<Real>(W.row(0)[i]);
  fill_with_zeros(mean_);
  fill_with_zeros(square_);
  mean_b_.assign(support.ways, 0.0);
  square_b_.assign(support.ways, 0.0);
}

template <class Real>
void LogisticTraining<Real>::step(std::size_t number, std::size_t begin, std::size_t end,
                                  std::span<double> b) {
  const std::span<const Real* const> rows(row_pointers_.data() + begin, end - begin);
  const std::span<const std::size_t> labels(labels_.data() + begin, end - begin);
  objective_.differentiate(rows, labels, weights_.view(), b);
  const kernels::AdamStep adam = adam_of(number);
  adam_step(Real{})(adam, rows.data(), rows.size(), objective_.residuals(0),
                    objective_.residual_stride(), objective_.pull().data(), weights_.rows(),
                    weights_.stride(), weights_.row(0), mean_.row(0), square_.row(0));
  if (options_.kind == LogisticKind::voronoi) return;
  for (std::size_t k = 0; k < b.size(); ++k) {
    const double g = objective_.bias_gradient()[k];
    mean_b_[k] = adam.keep_mean * mean_b_[k] + (1 - adam.keep_mean) * g;
    square_b_[k] = adam.keep_square * square_b_[k] + (1 - adam.keep_square) * g * g;
    b[k] -= adam.rate * mean_b_[k] / (std::sqrt(square_b_[k]) * adam.root_scale + adam.epsilon);
  }
}

template class LogisticObjective<float>;
template class LogisticObjective<double>;
template class LogisticTraining<float>;
template class LogisticTraining<double>;

void LogisticHead::start_from_prototypes(const Support& support) {
  class_means(support, weights_);
  for (std::size_t i = 0; i < weights_.rows() * weights_.stride(); ++i) weights_.row(0)[i] *= 2;
  tie_biases(weights_.view(), b_);
}

void LogisticHead::start_at_random(const Support& support) {
  const std::size_t dim = support.rows.cols();
  reshape(weights_, support.ways, dim);
  LegacyRandom random(support.stream);
  const double reach = 1 / std::sqrt(static_cast<double>(dim));
  for (std::size_t k = 0; k < support.ways; ++k)
    for (std::size_t i = 0; i < dim; ++i) weights_.row(k)[i] = random.uniform(-reach, reach);
  for (double& b : b_) b = random.uniform(-reach, reach);
}

void LogisticHead::fit(const Support& support) {
  b_.resize(support.ways);
  if (options_.start == LogisticStart::random)
    start_at_random(support);
  else
    start_from_prototypes(support);
  if (weights_.cols() < kFloatDim)
    in_double_.run(support, weights_, b_);
  else
    in_float_.run(support, weights_, b_);
}

void LogisticHead::influence(const double* query, std::span<double> out) const {
  kernels::head_kernels().dots(query, weights_.row(0), weights_.stride(), weights_.rows(),
                               weights_.stride(), out.data());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] += b_[k];
}

}  // namespace deepvoro
