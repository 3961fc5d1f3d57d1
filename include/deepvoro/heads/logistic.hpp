#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/heads/head.hpp"

namespace deepvoro {

enum class LogisticKind {
  power,    // W and b are free: a Power diagram
  voronoi,  // b_k = -|W_k|^2/4 in every iteration: a Voronoi diagram with centers W_k/2
};

// Mean cross-entropy of softmax(W.z + b) over some labelled rows.
class LogisticObjective {
 public:
  explicit LogisticObjective(LogisticKind kind) : kind_(kind) {}

  // The loss; for kind voronoi, b is first set to what W ties it to. `rows` are padded rows.
  double evaluate(std::span<const double* const> rows, std::span<const std::size_t> labels,
                  MatrixView<const double> W, std::span<double> b);

  // Its gradient: dL/dW_k = sum_i residuals(k)[i] * row_i + pull()[k] * W_k; dL/db_k, where b is
  // free, is bias_gradient()[k].
  [[nodiscard]] const double* residuals(std::size_t k) const { return residuals_.row(k); }
  [[nodiscard]] std::size_t residual_stride() const { return residuals_.stride(); }
  [[nodiscard]] std::span<const double> pull() const { return pull_; }
  [[nodiscard]] std::span<const double> bias_gradient() const { return bias_gradient_; }

 private:
  LogisticKind kind_;
  Matrix<double> residuals_;  // [ways x rows]
  std::vector<double> log_sums_;
  std::vector<double> logits_;
  std::vector<double> pull_;
  std::vector<double> bias_gradient_;
};

// b_k = -|W_k|^2/4, with which all weights of the Power diagram of (W, b) are 0.
void tie_biases(MatrixView<const double> W, std::span<double> b);

// Logistic regression by Adam (rate 0.01, 0.9, 0.999, 1e-8), all support rows in a batch up to 64
// of them; above, batches of 64 rows, the first shot of every class before the second. It starts
// from the Voronoi diagram of the class means c_k: W_k = 2 c_k, b_k = -|c_k|^2. Influence: W_k.z +
// b_k.
class LogisticHead {
 public:
  static constexpr std::size_t default_epochs = 20;

  explicit LogisticHead(LogisticKind kind, std::size_t epochs = default_epochs)
      : kind_(kind), epochs_(epochs), objective_(kind) {}

  void fit(const Support& support);
  void influence(const double* query, std::span<double> out) const;

  [[nodiscard]] MatrixView<const double> W() const { return W_.view(); }
  [[nodiscard]] std::span<const double> b() const { return {b_.data(), W_.rows()}; }

 private:
  void start(const Support& support);
  void step(std::size_t number, std::size_t begin, std::size_t end);

  LogisticKind kind_;
  std::size_t epochs_;
  LogisticObjective objective_;
  std::vector<const double*> rows_;  // in the order of the batches
  std::vector<std::size_t> labels_;
  Matrix<double> W_, mean_W_, square_W_;  // the running means are those of the gradient
  std::vector<double> b_, mean_b_, square_b_, bias_step_;  // padded, as rows are
};

}  // namespace deepvoro
