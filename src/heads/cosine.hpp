#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/matrix.hpp"
#include "core/random.hpp"
#include "heads/head.hpp"

namespace deepvoro {

// The head of S2M2_R: a linear layer without bias on rows of unit length, weight-normalised
// (w_k = g_k v_k/|v_k|), logits scaled, cross-entropy, stochastic gradient descent. Influence: the
// logits scale * w_k.x.
//
// Every v_k stays in the span of its start and the support rows, so training runs on dot products:
// no step costs more for more dimensions. Random numbers are those of NumPy's
// RandomState(support.stream): uniform(-1/sqrt(dim), 1/sqrt(dim), (ways, dim)) for v, then
// permutation(rows) for each epoch.
class CosineHead {
 public:
  struct Options {
    std::size_t epochs = 300;
    std::size_t batch = 4;
    double rate = 0.01;
    double momentum = 0.9;
    double dampening = 0.9;
    double weight_decay = 0.001;
  };

  CosineHead() = default;
  explicit CosineHead(const Options& options) : options_(options) {}

  // Rows must have unit length (or be zero).
  void fit(const Support& support);
  void influence(const double* query, std::span<double> out) const;

  [[nodiscard]] static double scale(std::size_t ways) { return ways > 200 ? 10 : 2; }

 private:
  // What is followed of one class: the dot products of v and of its momentum with each other and
  // with the support rows, and their coordinates: how much of each support row, and of the start
  // of v, they consist of.
  struct Weight {
    double v_v = 0, v_m = 0, m_m = 0;
    double g = 0, g_momentum = 0;
  };

  void start(const Support& support, LegacyRandom& random);
  void step(const Support& support, std::span<const std::size_t> batch, bool is_first);
  void update(std::size_t k, std::span<const std::size_t> batch, bool is_first);

  Options options_;
  Matrix<double> v_;         // [ways x dim], first the start, then the result times scale * g/|v|
  Matrix<double> gram_;      // [rows x (rows dot products, then rows + 1 coordinates)]
  Matrix<double> position_;  // [ways x the same], of v
  Matrix<double> momentum_;  // of its momentum
  std::vector<Weight> weights_;
  Matrix<double> logits_;  // [ways x batch]
  std::vector<const double*> batch_rows_;
  std::vector<double> batch_weights_;
  std::vector<std::size_t> order_;
};

}  // namespace deepvoro
