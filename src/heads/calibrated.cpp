#include "heads/calibrated.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/head_kernels.hpp"
#include "lbfgs.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kUnused = static_cast<std::size_t>(-1);

}  // namespace

struct CalibratedHead::Work {
  // The Gaussian of a support row: the samples are mean + noise^T * deviations. The last row of the
  // noise is that of the constant added to the covariance.
  struct Gaussian {
    std::vector<std::size_t> bases;  // places in `used`
    Matrix<float> noise;             // [deviations of these bases + 1 x samples]
    std::vector<const float*> noise_rows;
  };
  // A base class that some support row is near to.
  struct UsedBase {
    std::size_t base = 0;
    Matrix<float> of_ways;   // deviations . W, [deviations x ways] without padding
    Matrix<float> gradient;  // of these
  };

  Work(const BaseStatistics& statistics, const Options& wanted)
      : base(statistics),
        options(wanted),
        place_of_base(statistics.classes(), kUnused),
        distances(statistics.classes()),
        nearest(statistics.classes()) {}

  void reserve(const Support& support) {
    if (ways == support.ways && shots == support.shots) return;
    ways = support.ways;
    shots = support.shots;
    dim = base.dim();
    stride = padded(dim);
    sample_count = options.samples / shots;
    const std::size_t rows = ways * shots;
    const std::size_t near = std::min(options.neighbours, base.classes());
    const std::size_t deviations = near * base.largest_class();
    gaussians.resize(rows);
    // Normal numbers come in blocks, the last of which may reach beyond.
    const std::size_t spare = kernels::kNormalsPerBlock / kRowPadding;
    for (Gaussian& gaussian : gaussians)
      gaussian.noise = Matrix<float>(deviations + 1 + spare, sample_count);
    used.resize(std::min(rows * near, base.classes()));
    for (UsedBase& each : used) {
      each.of_ways = Matrix<float>(1, base.largest_class() * ways);
      each.gradient = Matrix<float>(1, base.largest_class() * ways);
    }
    means = Matrix<double>(2 * rows, dim);
    of_means.resize(ways);
    parameters = Matrix<double>(1, ways * stride + padded(ways));
    rounded = Matrix<float>(ways, dim);
    rounded_rows.clear();
    for (std::size_t k = 0; k < ways; ++k) rounded_rows.push_back(rounded.row(k));
    rounded_gradient = Matrix<float>(ways, dim);
    logits = Matrix<float>(ways, sample_count);
    logit_rows.clear();
    for (std::size_t k = 0; k < ways; ++k) logit_rows.push_back(logits.row(k));
    probabilities = Matrix<double>(ways, kRowPadding);
    of_label.resize(logits.stride());
    log_sums.resize(std::max(logits.stride(), kRowPadding));
    sums_of_ways.resize(ways);
    spread_of_ways.resize(ways);
    spread_gradient.resize(ways);
    lbfgs.emplace(parameters.stride(),
                  Lbfgs::Options{.gradient_tolerance = options.gradient_tolerance});
  }

  void fit(const Support& support) {
    reserve(support);
    calibrate(support);
    std::fill_n(parameters.row(0), parameters.stride(), 0.0);
    lbfgs->minimise(
        [&](const double* x, double* gradient) { return evaluate(support, x, gradient); },
        [&](double* gradient) { precondition(gradient); }, parameters.row(0));
  }

  // Means and noise of all Gaussians.
  void calibrate(const Support& support) {
    std::ranges::fill(place_of_base, kUnused);
    used_count = 0;
    for (std::size_t r = 0; r < gaussians.size(); ++r) {
      const double* row = support.rows.row(r);
      find_nearest(row);
      const std::size_t near = std::min(options.neighbours, base.classes());
      double* mean = means.row(r);
      std::copy_n(row, stride, mean);
      std::copy_n(row, stride, means.row(gaussians.size() + r));
      Gaussian& gaussian = gaussians[r];
      gaussian.bases.clear();
      std::size_t deviations = 0;
      for (std::size_t i = 0; i < near; ++i) {
        const std::size_t c = nearest[i];
        for (std::size_t d = 0; d < dim; ++d) mean[d] += base.means().row(c)[d];
        deviations += base.deviations(c).rows();
        if (place_of_base[c] == kUnused) {
          place_of_base[c] = used_count;
          used[used_count++].base = c;
        }
        gaussian.bases.push_back(place_of_base[c]);
      }
      for (std::size_t d = 0; d < dim; ++d) mean[d] /= static_cast<double>(near + 1);
      draw_noise(support.stream, r, deviations, gaussian);
    }
  }

  void find_nearest(const double* row) {
    kernels::active().squared_distances_double(row, base.means().row(0), base.means().stride(),
                                               base.classes(), stride, distances.data());
    std::iota(nearest.begin(), nearest.end(), std::size_t{0});
    const auto near = static_cast<std::ptrdiff_t>(std::min(options.neighbours, base.classes()));
    std::ranges::partial_sort(nearest, nearest.begin() + near, {},
                              [&](std::size_t c) { return std::pair(distances[c], c); });
  }

  // The noise of the deviations is divided by the square root of the number of neighbours, because
  // their covariances are averaged.
  void draw_noise(std::uint32_t stream, std::size_t row, std::size_t deviations,
                  Gaussian& gaussian) const {
    Matrix<float>& noise = gaussian.noise;
    const std::size_t numbers = (deviations + 1) * noise.stride();
    const std::size_t blocks =
        (numbers + kernels::kNormalsPerBlock - 1) / kernels::kNormalsPerBlock;
    kernels::head_kernels().normals(stream, std::uint64_t{row} << 32U, blocks, noise.row(0));
    gaussian.noise_rows.clear();
    const auto share =
        static_cast<float>(1 / std::sqrt(static_cast<double>(gaussian.bases.size())));
    for (std::size_t j = 0; j <= deviations; ++j) {
      float* of_deviation = noise.row(j);
      const float factor = j < deviations ? share : static_cast<float>(std::sqrt(options.spread));
      for (std::size_t i = 0; i < sample_count; ++i) of_deviation[i] *= factor;
      std::fill(of_deviation + sample_count, of_deviation + noise.stride(), 0.0F);
      gaussian.noise_rows.push_back(of_deviation);
    }
  }

  // Sum of the losses plus |W|^2/2, and its gradient.
  double evaluate(const Support& support, const double* x, double* gradient) {
    const double* b = x + ways * stride;
    std::fill_n(gradient, parameters.stride(), 0.0);
    round_parameters(x);
    multiply_deviations();
    double loss = 0;
    for (std::size_t r = 0; r < gaussians.size(); ++r) {
      loss += add_samples(r, support.label(r), x, b, gradient);
      loss += add_support_row(r, support.label(r), x, b, gradient);
    }
    multiply_gradients();
    kernels::head_kernels().row_squares(x, stride, ways, dim, sums_of_ways.data());
    for (std::size_t k = 0; k < ways; ++k) {
      const float* of_way = rounded_gradient.row(k);
      const auto spread = static_cast<double>(spread_gradient[k]);
      for (std::size_t d = 0; d < dim; ++d)
        gradient[k * stride + d] += static_cast<double>(of_way[d]) + spread + x[k * stride + d];
      loss += sums_of_ways[k] / 2;
    }
    return loss;
  }

  // What is added to every element of a covariance makes samples vary most along (1, ..., 1), by
  // far. The Hessian is taken for that of the penalty and of this: I + c 11^T, c some samples'
  // worth.
  void precondition(double* gradient) {
    constexpr double samples_worth = 10;
    const double c = samples_worth * options.spread;
    kernels::head_kernels().row_sums(gradient, stride, ways, dim, sums_of_ways.data());
    for (std::size_t k = 0; k < ways; ++k) {
      double* of_way = gradient + k * stride;
      const double share = sums_of_ways[k] * c / (1 + c * static_cast<double>(dim));
      for (std::size_t d = 0; d < dim; ++d) of_way[d] -= share;
    }
  }

  void round_parameters(const double* x) {
    kernels::head_kernels().row_sums(x, stride, ways, dim, sums_of_ways.data());
    for (std::size_t k = 0; k < ways; ++k) {
      for (std::size_t d = 0; d < dim; ++d)
        rounded.row(k)[d] = static_cast<float>(x[k * stride + d]);
      spread_of_ways[k] = static_cast<float>(sums_of_ways[k]);
      spread_gradient[k] = 0;
    }
  }

  // out[row][way] += rows[row] . of_ways[way]
  void add_dots_by_row(const float* const* rows, std::size_t count, const float* const* of_ways,
                       std::size_t length, float* out) const {
    kernels::add_dots(kernels::active(), kernels::DotProducts<float>{.queries = rows,
                                                                     .query_count = count,
                                                                     .centers = of_ways,
                                                                     .center_count = ways,
                                                                     .length = length,
                                                                     .out = out,
                                                                     .center_stride = 1,
                                                                     .query_stride = ways});
  }

  void multiply_deviations() {
    for (std::size_t u = 0; u < used_count; ++u) {
      const MatrixView<const float> deviations = base.deviations(used[u].base);
      deviation_rows.clear();
      for (std::size_t j = 0; j < deviations.rows(); ++j)
        deviation_rows.push_back(deviations.row(j));
      std::fill_n(used[u].of_ways.row(0), deviations.rows() * ways, 0.0F);
      std::fill_n(used[u].gradient.row(0), deviations.rows() * ways, 0.0F);
      add_dots_by_row(deviation_rows.data(), deviations.rows(), rounded_rows.data(), stride,
                      used[u].of_ways.row(0));
    }
  }

  void multiply_gradients() {
    std::fill_n(rounded_gradient.row(0), ways * rounded_gradient.stride(), 0.0F);
    for (std::size_t u = 0; u < used_count; ++u) {
      const MatrixView<const float> deviations = base.deviations(used[u].base);
      kernels::head_kernels().add_products(used[u].gradient.row(0), ways, ways, deviations.row(0),
                                           deviations.rows(), deviations.stride(), stride,
                                           rounded_gradient.row(0), rounded_gradient.stride());
    }
  }

  double add_samples(std::size_t row, std::size_t label, const double* x, const double* b,
                     double* gradient) {
    if (sample_count == 0) return 0;
    const kernels::HeadTable& kernels = kernels::head_kernels();
    Gaussian& gaussian = gaussians[row];
    const std::size_t length = logits.stride();
    std::fill_n(logits.row(0), ways * length, 0.0F);
    std::size_t first = 0;
    for (const std::size_t u : gaussian.bases) {
      const std::size_t count = base.deviations(used[u].base).rows();
      kernels.add_products(used[u].of_ways.row(0), ways, ways, gaussian.noise.row(first), count,
                           length, length, logits.row(0), length);
      first += count;
    }
    kernels.add_products(spread_of_ways.data(), ways, ways, gaussian.noise.row(first), 1, length,
                         length, logits.row(0), length);

    kernels.dots(means.row(row), x, stride, ways, stride, of_means.data());
    for (std::size_t k = 0; k < ways; ++k) of_means[k] += b[k];
    kernels.sample_residuals({.logits = logits.row(0),
                              .ways = ways,
                              .stride = length,
                              .count = sample_count,
                              .shifts = of_means.data(),
                              .label = label,
                              .scratch = probabilities.row(0),
                              .of_label = of_label.data(),
                              .log_sums = log_sums.data(),
                              .totals = sums_of_ways.data()});
    double loss = 0;
    for (std::size_t i = 0; i < sample_count; ++i) loss -= of_label[i];
    for (std::size_t i = 0; i < sample_count; ++i) loss += log_sums[i];
    for (std::size_t k = 0; k < ways; ++k)
      add_to_gradient(k, sums_of_ways[k], means.row(row), gradient);

    first = 0;
    for (const std::size_t u : gaussian.bases) {
      const std::size_t count = base.deviations(used[u].base).rows();
      add_dots_by_row(gaussian.noise_rows.data() + first, count, logit_rows.data(), length,
                      used[u].gradient.row(0));
      first += count;
    }
    add_dots_by_row(gaussian.noise_rows.data() + first, 1, logit_rows.data(), length,
                    spread_gradient.data());
    return loss;
  }

  // The support row itself.
  double add_support_row(std::size_t row, std::size_t label, const double* x, const double* b,
                         double* gradient) {
    const double* values = means.row(gaussians.size() + row);
    kernels::head_kernels().dots(values, x, stride, ways, stride, of_means.data());
    std::fill_n(probabilities.row(0), ways * kRowPadding, 0.0);
    for (std::size_t k = 0; k < ways; ++k)
      probabilities.row(0)[k * kRowPadding] = of_means[k] + b[k];
    double loss = -(of_means[label] + b[label]);
    kernels::head_kernels().softmax(probabilities.row(0), ways, kRowPadding, log_sums.data());
    loss += log_sums[0];
    for (std::size_t k = 0; k < ways; ++k)
      add_to_gradient(k, probabilities.row(0)[k * kRowPadding] - (k == label ? 1 : 0), values,
                      gradient);
    return loss;
  }

  void add_to_gradient(std::size_t k, double residual, const double* row, double* gradient) const {
    double* of_way = gradient + k * stride;
    kernels::head_kernels().add_multiple(residual, row, dim, of_way);
    gradient[ways * stride + k] += residual;
  }

  const BaseStatistics& base;
  Options options;
  std::size_t ways = 0, shots = 0, dim = 0, stride = 0, sample_count = 0;
  std::vector<std::size_t> place_of_base;  // in `used`
  std::vector<double> distances;
  std::vector<std::size_t> nearest;
  std::vector<Gaussian> gaussians;  // of each support row
  std::vector<UsedBase> used;
  std::size_t used_count = 0;
  Matrix<double> means;  // of the Gaussians, then the support rows themselves
  std::vector<double> of_means;
  Matrix<double> parameters;  // W, then b
  Matrix<float> rounded;      // W
  std::vector<const float*> rounded_rows;
  Matrix<float> rounded_gradient;
  std::vector<float> spread_of_ways, spread_gradient;
  Matrix<float> logits;  // of the samples of one support row, [ways x samples], then residuals
  std::vector<const float*> logit_rows;
  Matrix<double> probabilities;  // of as many samples as are computed together
  std::vector<double> of_label, log_sums;
  std::vector<double> sums_of_ways;
  std::vector<const float*> deviation_rows;
  std::optional<Lbfgs> lbfgs;
};

CalibratedHead::CalibratedHead(const BaseStatistics& base, const Options& options)
    : work_(std::make_unique<Work>(base, options)) {}
CalibratedHead::CalibratedHead(CalibratedHead&&) noexcept = default;
CalibratedHead& CalibratedHead::operator=(CalibratedHead&&) noexcept = default;
CalibratedHead::~CalibratedHead() = default;

void CalibratedHead::fit(const Support& support) {
  work_->fit(support);
}

void CalibratedHead::influence(const double* query, std::span<double> out) const {
  const double* x = work_->parameters.row(0);
  kernels::head_kernels().dots(query, x, work_->stride, work_->ways, work_->stride, out.data());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] += x[work_->ways * work_->stride + k];
}

MatrixView<const double> CalibratedHead::weights() const {
  return {work_->parameters.row(0), work_->ways, work_->dim, work_->stride};
}

std::span<const double> CalibratedHead::biases() const {
  return {work_->parameters.row(0) + work_->ways * work_->stride, work_->ways};
}

Matrix<double> CalibratedHead::samples(std::size_t support_row) const {
  const Work::Gaussian& gaussian = work_->gaussians[support_row];
  Matrix<double> out(work_->sample_count, work_->dim);
  for (std::size_t i = 0; i < out.rows(); ++i) {
    double* sample = out.row(i);
    std::copy_n(work_->means.row(support_row), work_->dim, sample);
    std::size_t j = 0;
    for (const std::size_t u : gaussian.bases) {
      const MatrixView<const float> deviations = work_->base.deviations(work_->used[u].base);
      for (std::size_t r = 0; r < deviations.rows(); ++r, ++j)
        for (std::size_t d = 0; d < out.cols(); ++d)
          sample[d] += static_cast<double>(gaussian.noise.row(j)[i]) *
                       static_cast<double>(deviations.row(r)[d]);
    }
    for (std::size_t d = 0; d < out.cols(); ++d)
      sample[d] += static_cast<double>(gaussian.noise.row(j)[i]);
  }
  return out;
}

}  // namespace deepvoro
