#include "heads/calibrated.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "heads/curvature.hpp"
#include "heads/leading_directions.hpp"
#include "kernels/head_kernels.hpp"
#include "lbfgs.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kUnused = static_cast<std::size_t>(-1);

// After which evaluations of the objective the curvature is measured: when the loss is near its
// minimum, and once more when the weights are.
constexpr std::array<std::size_t, 2> kCurvatureMeasured = {10, 16};
// More would take longer to solve for than they save.
constexpr std::size_t kMostUnknowns = 640;

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
    Matrix<float> of_ways;      // deviations . W, [deviations x ways] without padding
    Matrix<float> gradient;     // of these
    Matrix<float> projections;  // deviations . directions
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
    logits = Matrix<float>(rows * ways, sample_count);
    logit_rows.clear();
    for (std::size_t k = 0; k < rows * ways; ++k) logit_rows.push_back(logits.row(k));
    probabilities = Matrix<double>(ways, kRowPadding);
    of_label.resize(logits.stride());
    log_sums.resize(std::max(logits.stride(), kRowPadding));
    sums_of_ways.resize(ways);
    spread_of_ways.resize(ways);
    spread_gradient.resize(ways);
    lbfgs.emplace(parameters.stride(),
                  Lbfgs::Options{.gradient_tolerance = options.gradient_tolerance});
    reserve_curvature();
  }

  void reserve_curvature() {
    directions = Matrix<double>(base.directions().rows() + ways, dim);
    is_curvature_worthwhile = ways * (directions.rows() + 1) <= kMostUnknowns;
    if (!is_curvature_worthwhile) return;
    std::copy_n(base.directions().row(0), base.directions().rows() * stride, directions.row(0));
    curvature.emplace(directions.view(), ways);
    for (UsedBase& each : used)
      each.projections = Matrix<float>(base.largest_class(), directions.rows());
    const std::size_t rows = ways * shots;
    curved_noise = Matrix<float>(base.largest_class(), sample_count);
    curved_samples = Matrix<float>(rows * sample_count, curvature->coordinates());
    curved_probabilities = Matrix<float>(rows * sample_count, ways);
    of_directions.resize(directions.rows());
  }

  void fit(const Support& support) {
    reserve(support);
    calibrate(support);
    std::fill_n(parameters.row(0), parameters.stride(), 0.0);
    evaluations = 0;
    is_curved = false;
    if (is_curvature_worthwhile) choose_directions();
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
    ++evaluations;
    if (is_curvature_worthwhile &&
        std::ranges::find(kCurvatureMeasured, evaluations) != kCurvatureMeasured.end())
      measure_curvature(support);
    return loss;
  }

  // Those of the base, and towards the mean of each class.
  void choose_directions() {
    for (std::size_t k = 0; k < ways; ++k) {
      const std::size_t row = base.directions().rows() + k;
      std::fill_n(directions.row(row), stride, 0.0);
      for (std::size_t s = 0; s < shots; ++s)
        kernels::head_kernels().add_multiple(1.0, means.row(k * shots + s), dim,
                                             directions.row(row));
      make_orthonormal(directions, row);
    }
    const std::size_t of_base = base.directions().rows();
    const MatrixView<const double> towards_means(directions.row(of_base), ways, dim, stride);
    for (std::size_t u = 0; u < used_count; ++u) {
      const MatrixView<const float> known = base.projections(used[u].base);
      Matrix<float>& projections = used[u].projections;
      for (std::size_t j = 0; j < known.rows(); ++j)
        std::copy_n(known.row(j), of_base, projections.row(j));
      project(base.deviations(used[u].base), towards_means,
              {projections.row(0) + of_base, known.rows(), ways, projections.stride()});
    }
  }

  // From the samples that are uncertain, for hardly any others contribute to it.
  void measure_curvature(const Support& support) {
    constexpr float certain = 0.05F;
    std::size_t count = 0;
    for (std::size_t r = 0; r < gaussians.size(); ++r) {
      chosen.clear();
      for (std::size_t i = 0; i < sample_count; ++i) {
        float* p = curved_probabilities.row(count + chosen.size());
        float uncertain = 1;
        for (std::size_t k = 0; k < ways; ++k) {
          p[k] = logits.row(r * ways + k)[i] + (k == support.label(r) ? 1.0F : 0.0F);
          uncertain -= p[k] * p[k];
        }
        if (uncertain > certain) chosen.push_back(i);
      }
      if (chosen.empty()) continue;
      add_coordinates(r, count);
      count += chosen.size();
    }
    if (count == 0) return;
    is_curved = curvature->measure(
        {curved_samples.row(0), count, curved_samples.cols(), curved_samples.stride()},
        {curved_probabilities.row(0), count, ways, curved_probabilities.stride()});
  }

  // Of the chosen samples of a support row.
  void add_coordinates(std::size_t row, std::size_t first) {
    const Gaussian& gaussian = gaussians[row];
    const kernels::HeadTable& kernels = kernels::head_kernels();
    kernels.dots(means.row(row), directions.row(0), stride, directions.rows(), stride,
                 of_directions.data());
    const auto along_ones = static_cast<float>(std::sqrt(static_cast<double>(dim)));
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      float* sample = curved_samples.row(first + c);
      for (std::size_t i = 0; i < directions.rows(); ++i)
        sample[i] = static_cast<float>(of_directions[i]);
      sample[0] += gaussian.noise_rows.back()[chosen[c]] * along_ones;
      sample[directions.rows()] = 1;
    }
    std::size_t at = 0;
    for (const std::size_t u : gaussian.bases) {
      const Matrix<float>& projections = used[u].projections;
      const std::size_t count = base.deviations(used[u].base).rows();
      for (std::size_t j = 0; j < count; ++j)
        for (std::size_t c = 0; c < chosen.size(); ++c)
          curved_noise.row(j)[c] = gaussian.noise_rows[at + j][chosen[c]];
      kernels.add_products(curved_noise.row(0), curved_noise.stride(), chosen.size(),
                           projections.row(0), count, projections.stride(), projections.stride(),
                           curved_samples.row(first), curved_samples.stride());
      at += count;
    }
  }

  // What is added to every element of a covariance makes samples vary most along (1, ..., 1), by
  // far. Until its curvature has been measured, the Hessian is taken for that of the penalty and of
  // this: I + c 11^T, c some samples' worth.
  void precondition(double* gradient) {
    if (is_curved) {
      curvature->divide(gradient, stride);
      return;
    }
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
    float* row_logits = logits.row(row * ways);
    std::fill_n(row_logits, ways * length, 0.0F);
    std::size_t first = 0;
    for (const std::size_t u : gaussian.bases) {
      const std::size_t count = base.deviations(used[u].base).rows();
      kernels.add_products(used[u].of_ways.row(0), ways, ways, gaussian.noise.row(first), count,
                           length, length, row_logits, length);
      first += count;
    }
    kernels.add_products(spread_of_ways.data(), ways, ways, gaussian.noise.row(first), 1, length,
                         length, row_logits, length);

    kernels.dots(means.row(row), x, stride, ways, stride, of_means.data());
    for (std::size_t k = 0; k < ways; ++k) of_means[k] += b[k];
    kernels.sample_residuals({.logits = row_logits,
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
      add_dots_by_row(gaussian.noise_rows.data() + first, count, logit_rows.data() + row * ways,
                      length, used[u].gradient.row(0));
      first += count;
    }
    add_dots_by_row(gaussian.noise_rows.data() + first, 1, logit_rows.data() + row * ways, length,
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
  Matrix<float> logits;  // [support rows * ways x samples], then residuals
  std::vector<const float*> logit_rows;
  Matrix<double> probabilities;  // of as many samples as are computed together
  std::vector<double> of_label, log_sums;
  std::vector<double> sums_of_ways;
  std::vector<const float*> deviation_rows;
  std::size_t evaluations = 0;
  bool is_curvature_worthwhile = false;
  bool is_curved = false;     // whether the curvature has been measured in this fit
  Matrix<double> directions;  // in which it is: those of the base, and one to each class
  std::optional<Curvature> curvature;
  std::vector<std::size_t> chosen;  // samples of a support row it is measured with
  Matrix<float> curved_noise, curved_samples, curved_probabilities;  // of these
  std::vector<double> of_directions;
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
