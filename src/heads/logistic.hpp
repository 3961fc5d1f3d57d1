#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/heads/logistic_options.hpp"
#include "heads/head.hpp"

namespace deepvoro {

// Mean cross-entropy of softmax(W.z + b), or softmax(sigmoid(W.z + b)), over some labelled rows z,
// given all W.z.
template <class Real>
class LogisticObjective {
 public:
  explicit LogisticObjective(const LogisticOptions& options) : options_(options) {}

  // Makes room for so many rows, and zeros beside.
  void resize(std::size_t ways, std::size_t rows);
  // logits().row(k)[i] = W_k.z_i, to be filled in for all rows that are differentiated. Without
  // sigmoids, any number may be added to all logits of a row.
  [[nodiscard]] Matrix<Real>& logits() { return logits_; }

  // The gradient of L, the cross-entropy + weight_decay/2 (|W|^2 + |b|^2), without b where it is
  // tied: dL/dW_k = sum_i residuals().row(k)[i] * z_i + pull()[k] * W_k; dL/db_k, where b is free,
  // is bias_gradient()[k].
  // Behind the labels, up to a multiple of kRowPadding, come some that are no class.
  void differentiate(const std::size_t* labels, std::size_t count, std::span<const double> b);
  [[nodiscard]] const Matrix<Real>& residuals() const { return residuals_; }
  [[nodiscard]] std::span<const Real> pull() const { return pull_; }
  [[nodiscard]] std::span<const double> bias_gradient() const { return bias_gradient_; }

 private:
  void to_sigmoids();
  void differentiate_sigmoids(std::span<const std::size_t> labels, std::span<const double> b);

  LogisticOptions options_;
  Matrix<Real> logits_, residuals_;  // [ways x rows]
  Matrix<double> probabilities_;     // the same
  Matrix<double> sigmoids_;          // [2 x all of the same], beside their complements
  std::vector<double> scratch_;
  std::vector<Real> pull_;
  std::vector<double> bias_gradient_;
};

// b_k = -|W_k|^2/4, with which all weights of the Power diagram of (W, b) are 0.
void tie_biases(MatrixView<const double> W, std::span<double> b);

// Adam on a logistic objective, with rows and W held as Real.
template <class Real>
class LogisticTraining {
 public:
  explicit LogisticTraining(const LogisticOptions& options)
      : options_(options), objective_(options) {}

  void run(const Support& support, Matrix<double>& W, std::span<double> b);

 private:
  void start(const Support& support, const Matrix<double>& W);
  void step(std::size_t number, std::size_t begin, std::size_t end, std::span<double> b);

  LogisticOptions options_;
  LogisticObjective<Real> objective_;
  Matrix<Real> rows_;                // of batch after batch, each in blocks of columns
  std::vector<std::size_t> labels_;  // behind the last, some that are no class
  Matrix<Real> parameters_;          // W with the running means of its gradient, way after way
  std::vector<Real> norms_;
  std::vector<double> mean_b_, square_b_;
};

// Logistic regression by Adam (rate 0.01, 0.9, 0.999, 1e-8), all support rows in a batch up to 64
// of them; above, batches of 64 rows, the first shot of every class before the second. Influence:
// W_k.z + b_k. Rows of fewer than 64 dimensions are trained on in double, longer ones in float32.
class LogisticHead {
 public:
  explicit LogisticHead(const LogisticOptions& options)
      : options_(options), in_float_(options), in_double_(options) {}

  void fit(const Support& support);
  void influence(const double* query, std::span<double> out) const;

  [[nodiscard]] MatrixView<const double> weights() const { return weights_.view(); }
  [[nodiscard]] std::span<const double> biases() const { return b_; }

 private:
  void start_from_prototypes(const Support& support);
  void start_at_random(const Support& support);

  LogisticOptions options_;
  LogisticTraining<float> in_float_;
  LogisticTraining<double> in_double_;
  Matrix<double> weights_;
  std::vector<double> b_;
};

}  // namespace deepvoro
