#include "relative_distances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "deepvoro/core/parallel.hpp"
#include "point_space.hpp"

namespace deepvoro {
namespace {

// Plain points weigh at most so much, and half of it where so many samples tell of variances.
constexpr double kPlainWeight = 0.5;
constexpr double kPlainHalf = 4;

// The variance of samples around the mean of their class before any are seen, where the mean of the
// network is still in points.
constexpr double kUsualPlainVariance = 0.42;

// Known queries that may be lost, for each strictness: where nothing but what is usual tells, and
// where left-out samples do.
struct Loss {
  double usual;
  double left_out;
};
constexpr std::array<Loss, kStrictnesses.size()> kLosses{{{0.01, 0.02}, {0.04, 0.07}, {0.12, 0.2}}};

// Where the threshold is looked for, as far as it does not come from left-out samples.
constexpr double kLeastThreshold = 0.6;
constexpr double kMostThreshold = 2;
// The deviation of the distances of known samples in units of that of products of points of
// different classes, and that of their scale where nothing is known of it.
constexpr double kDeviations = 2;
constexpr double kScaleDeviation = 0.08;
constexpr double kScaleWeight = 4;
// As many left-out samples as what is usual counts for.
constexpr double kUsualThresholdWeight = 20;

double normal_tail(double x) {
  return 0.5 * std::erfc(x / std::numbers::sqrt2);
}

// By linear interpolation, as NumPy's.
double quantile(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

// Distances of support samples, ascending.
struct SupportDistances {
  // Of those that can be left out, from the nearest class, their own without them.
  std::vector<double> left_out;
  // Of all, from the nearest class that is not their own; empty where there is but one.
  std::vector<double> strangers;
  double deviation = 0;  // of known samples from a distance of 1
};

// The smallest threshold that loses no more than `loss`: known samples lie around 1, and one that
// is beyond the threshold is lost only where no other class is near.
double usual_threshold(const SupportDistances& support, double loss) {
  const auto lost = [&](double threshold) {
    double share = 1;
    if (const std::vector<double>& all = support.strangers; !all.empty())
      share = static_cast<double>(all.end() - std::ranges::upper_bound(all, threshold)) /
              static_cast<double>(all.size());
    return normal_tail((threshold - 1) / support.deviation) * share;
  };
  double low = kLeastThreshold;
  double high = kMostThreshold;
  if (lost(low) <= loss) return low;
  constexpr double precision = 1e-12;
  while (high - low > precision) {
    const double middle = (low + high) / 2;
    (lost(middle) <= loss ? high : low) = middle;
  }
  return high;
}

double threshold_of(const SupportDistances& support, const Loss& loss) {
  const double usual = usual_threshold(support, loss.usual);
  if (support.left_out.empty()) return usual;
  const auto count = static_cast<double>(support.left_out.size());
  return (kUsualThresholdWeight * usual + count * quantile(support.left_out, 1 - loss.left_out)) /
         (kUsualThresholdWeight + count);
}

}  // namespace

RelativeDistances::RelativeDistances(const LabelledPoints& points, const LabelledPoints& plain,
                                     double usual_variance)
    : means_(points, usual_variance), plain_means_(plain, kUsualPlainVariance) {
  const auto degrees = static_cast<double>(points.labels.size() - points.classes);
  plain_weight_ = kPlainWeight * degrees / (degrees + kPlainHalf);
}

std::vector<double> RelativeDistances::of(const PointPair& sample) const {
  std::vector<double> distances(means_.classes());
  std::vector<double> plain(means_.classes());
  means_.squared_distances(sample.point, distances);
  plain_means_.squared_distances(sample.plain, plain);
  for (std::size_t k = 0; k < distances.size(); ++k)
    distances[k] = mixed(means_.relative_distance(k, distances[k], means_.count(k)),
                         plain_means_.relative_distance(k, plain[k], means_.count(k)));
  return distances;
}

// From the class that the sample is in, as if it were not: from the mean of n - 1 others it is
// n/(n-1) times as far as from that of all.
double RelativeDistances::without(const PointPair& sample, std::size_t label) const {
  std::vector<double> squared(means_.classes());
  const double n = means_.count(label);
  const double farther = n / (n - 1) * (n / (n - 1));
  means_.squared_distances(sample.point, squared);
  const double distance = means_.relative_distance(label, squared[label] * farther, n - 1);
  plain_means_.squared_distances(sample.plain, squared);
  return mixed(distance, plain_means_.relative_distance(label, squared[label] * farther, n - 1));
}

// How far a support sample would be from the nearest other class if it were in none. A sample of
// the support is in the center that is taken off all points, which makes it less like other
// classes.
double RelativeDistances::stranger(std::span<const double> distances, std::size_t label) const {
  const double nearer = 2 * center_share(distances.size()) / static_cast<double>(distances.size());
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < distances.size(); ++k)
    if (k != label)
      nearest =
          std::min(nearest, distances[k] - means_.relative_distance(k, nearer, means_.count(k)) /
                                               (1 + plain_weight_));
  return nearest;
}

std::array<double, kStrictnesses.size()> RelativeDistances::thresholds(const LabelledPoints& points,
                                                                       const LabelledPoints& plain,
                                                                       double likeness_deviation,
                                                                       unsigned threads) const {
  const std::span<const std::size_t> labels = points.labels;
  std::vector<double> strangers(labels.size());
  std::vector<double> nearest(labels.size());
  constexpr std::size_t samples_at_once = 8;
  parallel_for(threads, labels.size(), samples_at_once,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const PointPair sample{points.points[i], plain.points[i]};
                   std::vector<double> distances = of(sample);
                   strangers[i] = stranger(distances, labels[i]);
                   if (means_.count(labels[i]) < 2) continue;
                   distances[labels[i]] = without(sample, labels[i]);
                   nearest[i] = *std::ranges::min_element(distances);
                 }
               });
  const double of_samples = kDeviations * likeness_deviation;
  const auto degrees = static_cast<double>(labels.size() - points.classes);
  SupportDistances support{.left_out = {},
                           .strangers = {},
                           .deviation = std::sqrt(of_samples * of_samples +
                                                  kScaleDeviation * kScaleDeviation * kScaleWeight /
                                                      (kScaleWeight + degrees))};
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (means_.count(labels[i]) > 1) support.left_out.push_back(nearest[i]);
  if (points.classes > 1) support.strangers = std::move(strangers);
  std::ranges::sort(support.left_out);
  std::ranges::sort(support.strangers);
  std::array<double, kStrictnesses.size()> found{};
  std::ranges::transform(kLosses, found.begin(),
                         [&](const Loss& loss) { return threshold_of(support, loss); });
  return found;
}

}  // namespace deepvoro
