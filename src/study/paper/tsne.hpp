#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/matrix.hpp"
#include "geometry/principal_plane.hpp"

// t-distributed stochastic neighbour embedding, exact, with the settings of scikit-learn: early
// exaggeration of 12 for 250 steps, momentum 0.5 and then 0.8, gains, a rate of n/48 but at least
// 50, and principal components to start from.
namespace deepvoro {

// How likely each pair of rows is to be neighbours: every row has as many effective neighbours as
// `perplexity` says; symmetric, the sum is 1, a row and itself 0.
[[nodiscard]] Matrix<double> neighbour_probabilities(MatrixView<const double> rows,
                                                     std::size_t perplexity, unsigned threads = 1);

// The gradient, with respect to the points, of the divergence below, where probabilities count
// `exaggeration` times.
void divergence_gradient(const Matrix<double>& probabilities, std::span<const PlanePoint> points,
                         double exaggeration, unsigned threads, std::span<PlanePoint> gradient);

// The Kullback-Leibler divergence of the points' neighbourhoods from the probabilities.
[[nodiscard]] double divergence(const Matrix<double>& probabilities,
                                std::span<const PlanePoint> points);

struct Embedding {
  std::vector<PlanePoint> points;
  double divergence = 0;
};

// Rows are padded. There are more of them than `perplexity`.
[[nodiscard]] Embedding embed_in_plane(MatrixView<const double> rows, std::size_t perplexity,
                                       std::size_t steps, unsigned threads = 1);

}  // namespace deepvoro
