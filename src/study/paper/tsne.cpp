#include "study/paper/tsne.hpp"

#include <algorithm>
#include <cmath>

#include "deepvoro/core/parallel.hpp"
#include "kernels/head_kernels.hpp"
#include "kernels/kernels.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kLanes = kRowPadding;
constexpr std::size_t kRowsPerTask = 16;

// The same bits everywhere, unlike those of C libraries.
void to_logarithms(Matrix<double>& row) {
  const kernels::RowTransform logarithm{.lambda = 0, .ladder = kernels::Ladder::logarithm};
  (void)kernels::active().transform(logarithm, 1, row.cols(), row.row(0));
}

double logarithm_of(std::size_t value) {
  Matrix<double> row(1, 1);
  row.row(0)[0] = static_cast<double>(value);
  to_logarithms(row);
  return row.row(0)[0];
}

// For some rows side by side, the precision beta of each with which exp(-beta d^2) over the other
// rows has the entropy asked for, and these shares.
void find_conditionals(const Matrix<double>& squared, std::size_t first, double entropy,
                       Matrix<double>& conditionals) {
  constexpr int most_steps = 200;
  constexpr double tolerance = 1e-12;
  constexpr double never = -1e30;
  const std::size_t n = squared.rows();
  const std::size_t count = std::min(kLanes, n - first);
  std::vector<double> beta(kLanes, 1);
  std::vector<double> low(kLanes, 0);
  std::vector<double> high(kLanes, 0);  // 0: none yet
  std::vector<double> shares(n * kLanes);
  std::vector<double> log_sums(kLanes);
  for (int step = 0; step < most_steps; ++step) {
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < kLanes; ++i)
        shares[j * kLanes + i] =
            i >= count || first + i == j ? never : -beta[i] * squared.row(first + i)[j];
    kernels::head_kernels().softmax(shares.data(), n, kLanes, log_sums.data());
    bool all_found = true;
    for (std::size_t i = 0; i < count; ++i) {
      double mean = 0;
      for (std::size_t j = 0; j < n; ++j)
        if (j != first + i) mean += shares[j * kLanes + i] * squared.row(first + i)[j];
      const double excess = log_sums[i] + beta[i] * mean - entropy;
      if (std::abs(excess) < tolerance) continue;
      all_found = false;
      (excess > 0 ? low : high)[i] = beta[i];
      if (high[i] == 0)
        beta[i] *= 2;
      else
        beta[i] = (low[i] + high[i]) / 2;
    }
    if (all_found) break;
  }
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < n; ++j)
      conditionals.row(first + i)[j] = first + i == j ? 0 : shares[j * kLanes + i];
}

double closeness(const PlanePoint& a, const PlanePoint& b) {
  const double x = a[0] - b[0];
  const double y = a[1] - b[1];
  return 1 / (1 + (x * x + y * y));
}

double sum_of_closeness(std::span<const PlanePoint> points, unsigned threads) {
  std::vector<double> sums(points.size());
  parallel_for(threads, points.size(), kRowsPerTask,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 for (std::size_t i = begin; i < end; ++i)
                   for (std::size_t j = 0; j < points.size(); ++j)
                     if (i != j) sums[i] += closeness(points[i], points[j]);
               });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

std::vector<PlanePoint> start_of(MatrixView<const double> rows) {
  constexpr double standard_deviation = 1e-4;
  const PrincipalPlane plane(rows);
  std::vector<PlanePoint> points;
  double squares = 0;
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    points.push_back(plane(rows.row(r)));
    squares += points.back()[0] * points.back()[0];
  }
  const double scale =
      squares > 0 ? standard_deviation / std::sqrt(squares / static_cast<double>(rows.rows())) : 0;
  for (PlanePoint& point : points)
    for (double& coordinate : point) coordinate *= scale;
  return points;
}

}  // namespace

Matrix<double> neighbour_probabilities(MatrixView<const double> rows, std::size_t perplexity,
                                       unsigned threads) {
  const std::size_t n = rows.rows();
  Matrix<double> squared(n, n);
  parallel_for(threads, n, kRowsPerTask, [&](std::size_t begin, std::size_t end, unsigned) {
    for (std::size_t i = begin; i < end; ++i)
      kernels::squared_distances(kernels::active(), rows.row(i), rows.data(), rows.stride(), n,
                                 padded(rows.cols()), squared.row(i));
  });
  // The units of the features have no meaning, but beta is searched from 1 on.
  double total = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) total += squared.row(i)[j];
  if (total > 0)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        squared.row(i)[j] *= static_cast<double>(n) * static_cast<double>(n) / total;
  const double entropy = logarithm_of(perplexity);
  Matrix<double> conditionals(n, n);
  parallel_for(threads, n, kLanes, [&](std::size_t begin, std::size_t, unsigned) {
    find_conditionals(squared, begin, entropy, conditionals);
  });
  Matrix<double> probabilities(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      probabilities.row(i)[j] =
          (conditionals.row(i)[j] + conditionals.row(j)[i]) / (2 * static_cast<double>(n));
  return probabilities;
}

void divergence_gradient(const Matrix<double>& probabilities, std::span<const PlanePoint> points,
                         double exaggeration, unsigned threads, std::span<PlanePoint> gradient) {
  const double total = sum_of_closeness(points, threads);
  parallel_for(threads, points.size(), kRowsPerTask,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 for (std::size_t i = begin; i < end; ++i) {
                   PlanePoint sum{};
                   const double* p = probabilities.row(i);
                   for (std::size_t j = 0; j < points.size(); ++j) {
                     const double near = closeness(points[i], points[j]);
                     const double pull = (exaggeration * p[j] - near / total) * near;
                     sum[0] += pull * (points[i][0] - points[j][0]);
                     sum[1] += pull * (points[i][1] - points[j][1]);
                   }
                   gradient[i] = {4 * sum[0], 4 * sum[1]};
                 }
               });
}

double divergence(const Matrix<double>& probabilities, std::span<const PlanePoint> points) {
  constexpr double least = 1e-300;  // has a logarithm; counts nothing where the probability is 0
  const double total = sum_of_closeness(points, 1);
  double sum = 0;
  Matrix<double> ratios(1, points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double* p = probabilities.row(i);
    for (std::size_t j = 0; j < points.size(); ++j)
      ratios.row(0)[j] = std::max(least, p[j] * total / closeness(points[i], points[j]));
    to_logarithms(ratios);
    for (std::size_t j = 0; j < points.size(); ++j) sum += p[j] * ratios.row(0)[j];
  }
  return sum;
}

Embedding embed_in_plane(MatrixView<const double> rows, std::size_t perplexity, std::size_t steps,
                         unsigned threads) {
  constexpr double early_exaggeration = 12;
  constexpr std::size_t early_steps = 250;
  constexpr double least_rate = 50;
  constexpr double least_gain = 0.01;
  const Matrix<double> probabilities = neighbour_probabilities(rows, perplexity, threads);
  const std::size_t n = rows.rows();
  const double rate = std::max(static_cast<double>(n) / early_exaggeration / 4, least_rate);
  Embedding result{.points = start_of(rows)};
  std::vector<PlanePoint> gradient(n);
  std::vector<PlanePoint> velocity;
  std::vector<PlanePoint> gains;
  for (std::size_t step = 0; step < steps; ++step) {
    const bool early = step < early_steps;
    if (step == 0 || step == early_steps) {
      velocity.assign(n, {0, 0});
      gains.assign(n, {1, 1});
    }
    divergence_gradient(probabilities, result.points, early ? early_exaggeration : 1, threads,
                        gradient);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t d = 0; d < 2; ++d) {
        double& gain = gains[i][d];
        gain = velocity[i][d] * gradient[i][d] < 0 ? gain + 0.2 : gain * 0.8;
        gain = std::max(gain, least_gain);
        velocity[i][d] = (early ? 0.5 : 0.8) * velocity[i][d] - rate * gain * gradient[i][d];
        result.points[i][d] += velocity[i][d];
      }
  }
  result.divergence = divergence(probabilities, result.points);
  return result;
}

}  // namespace deepvoro
