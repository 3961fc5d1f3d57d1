#include "heads/logistic.hpp"

#include <algorithm>
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
constexpr double kEpsilon = 1e-8;
constexpr std::size_t kBlock = 16;  // columns of rows and parameters as the kernels take them

kernels::AdamStep adam_of(std::size_t number) {
  kernels::AdamStep step;
  const double rate = kRate * (1 - step.keep_mean) / (1 - whole_power(step.keep_mean, number));
  step.root_scale =
      std::sqrt((1 - step.keep_square) / (1 - whole_power(step.keep_square, number))) / rate;
  step.epsilon = kEpsilon / rate;
  return step;
}

void compute(const kernels::LogisticMove<float>& task) {
  kernels::head_kernels().logistic_move_float(task);
}
void compute(const kernels::LogisticMove<double>& task) {
  kernels::head_kernels().logistic_move_double(task);
}
void compute(const kernels::Logits<float>& task) {
  kernels::head_kernels().logits_float(task);
}
void compute(const kernels::Logits<double>& task) {
  kernels::head_kernels().logits_double(task);
}
void compute(const kernels::BatchResiduals<float>& task) {
  kernels::head_kernels().batch_residuals_float(task);
}
void compute(const kernels::BatchResiduals<double>& task) {
  kernels::head_kernels().batch_residuals_double(task);
}

// Where the value of a column is among the parameters of a way.
constexpr std::size_t value_at(std::size_t column) {
  return column / kBlock * 3 * kBlock + column % kBlock;
}

}  // namespace

void tie_biases(MatrixView<const double> W, std::span<double> b) {
  for (std::size_t k = 0; k < W.rows(); ++k) {
    kernels::head_kernels().dots(W.row(k), W.row(k), 0, 1, W.stride(), &b[k]);
    b[k] /= -4;
  }
}

template <class Real>
void LogisticObjective<Real>::resize(std::size_t ways, std::size_t rows) {
  logits_.reshape(ways, rows);
  std::fill_n(logits_.row(0), ways * logits_.stride(), Real{0});
  residuals_.reshape(ways, rows);
  pull_.resize(ways);
  bias_gradient_.resize(ways);
  scratch_.resize((ways + 1) * logits_.stride());
}

// The probabilities of two classes with the logits x and 0 are sigmoid(x) and its complement.
template <class Real>
void LogisticObjective<Real>::to_sigmoids() {
  const std::size_t count = probabilities_.rows() * probabilities_.stride();
  sigmoids_.reshape(2, count);
  std::copy_n(probabilities_.row(0), count, sigmoids_.row(0));
  std::fill_n(sigmoids_.row(1), count, 0.0);
  kernels::head_kernels().softmax(sigmoids_.row(0), 2, sigmoids_.stride(), nullptr);
  std::copy_n(sigmoids_.row(0), count, probabilities_.row(0));
}

// Through both the softmax and the sigmoids.
template <class Real>
void LogisticObjective<Real>::differentiate_sigmoids(std::span<const std::size_t> labels,
                                                     std::span<const double> b) {
  const std::size_t ways = b.size();
  probabilities_.reshape(ways, logits_.cols());
  for (std::size_t k = 0; k < ways; ++k)
    for (std::size_t i = 0; i < labels.size(); ++i)
      probabilities_.row(k)[i] = static_cast<double>(logits_.row(k)[i]) + b[k];
  to_sigmoids();
  kernels::head_kernels().softmax(probabilities_.row(0), ways, probabilities_.stride(), nullptr);
  const auto share = static_cast<double>(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) probabilities_.row(labels[i])[i] -= 1;
  for (std::size_t k = 0; k < ways; ++k) {
    bias_gradient_[k] = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::size_t place = k * probabilities_.stride() + i;
      const double residual =
          probabilities_.row(k)[i] / share * sigmoids_.row(0)[place] * sigmoids_.row(1)[place];
      bias_gradient_[k] += residual;
      residuals_.row(k)[i] = static_cast<Real>(residual);
    }
  }
}

template <class Real>
void LogisticObjective<Real>::differentiate(const std::size_t* labels, std::size_t count,
                                            std::span<const double> b) {
  if (options_.sigmoid)
    differentiate_sigmoids({labels, count}, b);
  else
    compute(kernels::BatchResiduals<Real>{.logits = logits_.row(0),
                                          .ways = logits_.rows(),
                                          .stride = logits_.stride(),
                                          .count = count,
                                          .biases = b.data(),
                                          .labels = labels,
                                          .residuals = residuals_.row(0),
                                          .totals = bias_gradient_.data(),
                                          .scratch = scratch_.data()});
  const bool is_tied = options_.kind == LogisticKind::voronoi;
  for (std::size_t k = 0; k < b.size(); ++k) {
    // db_k/dW_k = -W_k/2 where b is tied.
    pull_[k] = static_cast<Real>(options_.weight_decay - (is_tied ? bias_gradient_[k] / 2 : 0));
    if (!is_tied) bias_gradient_[k] += options_.weight_decay * b[k];
  }
}

template <class Real>
void LogisticTraining<Real>::run(const Support& support, Matrix<double>& W, std::span<double> b) {
  start(support, W);
  std::size_t number = 0;
  for (std::size_t epoch = 0; epoch < options_.epochs; ++epoch)
    for (std::size_t begin = 0; begin < rows_.rows(); begin += kBatch)
      step(++number, begin, std::min(begin + kBatch, rows_.rows()), b);
  for (std::size_t k = 0; k < W.rows(); ++k)
    for (std::size_t i = 0; i < W.stride(); ++i)
      W.row(k)[i] = static_cast<double>(parameters_.row(k)[value_at(i)]);
  if (options_.kind == LogisticKind::voronoi) tie_biases(W.view(), b);
}

template <class Real>
void LogisticTraining<Real>::start(const Support& support, const Matrix<double>& W) {
  std::vector<const double*> rows;
  labels_.clear();
  for (std::size_t s = 0; s < support.shots; ++s)
    for (std::size_t k = 0; k < support.ways; ++k) {
      if (s >= support.size(k)) continue;
      rows.push_back(support.rows.row(support.begin(k) + s));
      labels_.push_back(k);
    }
  labels_.resize(padded(labels_.size()), support.ways);
  rows_.reshape(rows.size(), W.cols());
  for (std::size_t begin = 0; begin < rows.size(); begin += kBatch) {
    Real* to = rows_.row(begin);
    for (std::size_t column = 0; column < W.stride(); column += kBlock)
      for (std::size_t r = begin; r < std::min(begin + kBatch, rows.size()); ++r)
        for (std::size_t i = column; i < column + kBlock; ++i)
          *to++ = static_cast<Real>(rows[r][i]);
  }
  parameters_.reshape(W.rows(), 3 * W.stride());
  std::fill_n(parameters_.row(0), parameters_.rows() * parameters_.stride(), Real{0});
  for (std::size_t k = 0; k < W.rows(); ++k)
    for (std::size_t i = 0; i < W.stride(); ++i)
      parameters_.row(k)[value_at(i)] = static_cast<Real>(W.row(k)[i]);
  norms_.resize(support.ways);
  mean_b_.assign(support.ways, 0.0);
  square_b_.assign(support.ways, 0.0);
  objective_.resize(support.ways, std::min(kBatch, rows.size()));
}

template <class Real>
void LogisticTraining<Real>::step(std::size_t number, std::size_t begin, std::size_t end,
                                  std::span<double> b) {
  const bool is_tied = options_.kind == LogisticKind::voronoi;
  const std::size_t ways = b.size();
  const std::size_t blocks = rows_.stride() / kBlock;
  compute(kernels::Logits<Real>{.ways = ways,
                                .blocks = blocks,
                                .rows = rows_.row(begin),
                                .row_count = end - begin,
                                .parameters = parameters_.row(0),
                                .relative = !options_.sigmoid,
                                .logits = objective_.logits().row(0),
                                .stride = objective_.logits().stride(),
                                .norms = is_tied ? norms_.data() : nullptr});
  if (is_tied)
    for (std::size_t k = 0; k < ways; ++k) b[k] = -static_cast<double>(norms_[k]) / 4;
  objective_.differentiate(labels_.data() + begin, end - begin, b);
  const kernels::AdamStep adam = adam_of(number);
  compute(kernels::LogisticMove<Real>{.adam = adam,
                                      .ways = ways,
                                      .blocks = blocks,
                                      .rows = rows_.row(begin),
                                      .row_count = end - begin,
                                      .residuals = objective_.residuals().row(0),
                                      .residual_stride = objective_.residuals().stride(),
                                      .balanced = !options_.sigmoid,
                                      .pull = objective_.pull().data(),
                                      .parameters = parameters_.row(0)});
  if (is_tied) return;
  for (std::size_t k = 0; k < ways; ++k) {
    const double g = objective_.bias_gradient()[k];
    mean_b_[k] = adam.keep_mean * mean_b_[k] + g;
    square_b_[k] = adam.keep_square * square_b_[k] + g * g;
    b[k] -= mean_b_[k] / (std::sqrt(square_b_[k]) * adam.root_scale + adam.epsilon);
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
  weights_.reshape(support.ways, dim);
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
