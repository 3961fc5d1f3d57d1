#include "ridge.hpp"

#include <algorithm>

#include "deepvoro/core/parallel.hpp"
#include "kernels/kernels.hpp"
#include "scatter.hpp"

namespace deepvoro {
namespace {

// Points have unit length; where they differ no more than this, they are one point.
constexpr double kLeastSpread = 1e-12;

// 1 / (classes * points of the same class), for each point: together 1, and the same for each
// class.
Eigen::VectorXd shares_of(std::span<const std::size_t> labels, std::size_t classes) {
  std::vector<std::size_t> counts(classes);
  for (const std::size_t label : labels) ++counts[label];
  Eigen::VectorXd shares(index(labels.size()));
  for (std::size_t i = 0; i < labels.size(); ++i)
    shares[index(i)] = 1.0 / static_cast<double>(classes * counts[labels[i]]);
  return shares;
}

// Whether each point is of each class, less the share of the classes.
Dense targets_of(std::span<const std::size_t> labels, std::size_t classes) {
  Dense targets =
      Dense::Constant(index(labels.size()), index(classes), -1.0 / static_cast<double>(classes));
  for (std::size_t i = 0; i < labels.size(); ++i) targets(index(i), index(labels[i])) += 1;
  return targets;
}

Dense products_among(const Matrix<double>& products, std::span<const std::size_t> from) {
  Dense some(index(from.size()), index(from.size()));
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t j = 0; j < from.size(); ++j)
      some(index(j), index(i)) = products.row(from[i])[from[j]];
  return some;
}

// The regression of some points, from the products of more of them with each other, for any
// strength.
class RidgeByProducts {
 public:
  // `from`: the points it is fitted on, as rows of `products`; refers to all of these.
  RidgeByProducts(const Matrix<double>& products, std::span<const std::size_t> from,
                  std::span<const std::size_t> labels, std::size_t classes);

  // Row i of `out` = scores of the point that is row i of the products, for each i in `of`.
  void scores(double strength, std::span<const std::size_t> of, MatrixView<double> out) const;
  // What points are multiplied by, [points x classes]: weights are sums of points less their mean.
  [[nodiscard]] Dense factors(double strength) const;

 private:
  const Matrix<double>& products_;
  std::span<const std::size_t> from_;
  std::span<const std::size_t> labels_;
  std::size_t classes_;
  Eigen::VectorXd shares_;
  Eigen::VectorXd with_mean_;  // products of each point with the weighted mean
  double mean_squared_;        // product of the weighted mean with itself
  Dense centred_;              // products of points less their mean
  double spread_;              // weighted mean of the squares of these
};

RidgeByProducts::RidgeByProducts(const Matrix<double>& products, std::span<const std::size_t> from,
                                 std::span<const std::size_t> labels, std::size_t classes)
    : products_(products),
      from_(from),
      labels_(labels),
      classes_(classes),
      shares_(shares_of(labels, classes)),
      centred_(products_among(products, from)) {
  fix_block_sizes();
  with_mean_ = centred_ * shares_;
  const double squared = shares_.dot(with_mean_);
  centred_.colwise() -= with_mean_;
  centred_.rowwise() -= with_mean_.transpose();
  centred_.array() += squared;
  mean_squared_ = squared;
  spread_ = shares_.dot(centred_.diagonal());
}

Dense RidgeByProducts::factors(double strength) const {
  if (!(spread_ > kLeastSpread)) return Dense::Zero(centred_.rows(), index(classes_));
  fix_block_sizes();
  Dense left = centred_;
  left.diagonal().array() +=
      strength * spread_ / (static_cast<double>(left.rows()) * shares_.array());
  return left.llt().solve(targets_of(labels_, classes_));
}

void RidgeByProducts::scores(double strength, std::span<const std::size_t> of,
                             MatrixView<double> out) const {
  const Dense factors = this->factors(strength);
  Eigen::VectorXd with(index(from_.size()));
  for (const std::size_t point : of) {
    for (std::size_t i = 0; i < from_.size(); ++i) with[index(i)] = products_.row(point)[from_[i]];
    const double with_mean = shares_.dot(with);
    with.array() += mean_squared_ - with_mean - with_mean_.array();
    const Eigen::RowVectorXd scores = with.transpose() * factors;
    for (std::size_t k = 0; k < classes_; ++k)
      out[point][k] = scores[index(k)] + 1.0 / static_cast<double>(classes_);
  }
}

std::vector<std::size_t> numbers_up_to(std::size_t count) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

Eigen::Map<const Eigen::VectorXd> as_vector(const double* point, std::size_t dim) {
  return {point, index(dim)};
}

// The weights as sums of points, [dim x classes]; for fewer points than dimensions.
Dense weights_by_products(const LabelledPoints& support, const Eigen::VectorXd& mean,
                          double strength, unsigned threads) {
  const Matrix<double> products = products_of(support.points, support.dim, threads);
  const std::vector<std::size_t> all = numbers_up_to(support.points.size());
  const Dense factors =
      RidgeByProducts(products, all, support.labels, support.classes).factors(strength);
  Dense weights = Dense::Zero(index(support.dim), index(support.classes));
  for (std::size_t i = 0; i < support.points.size(); ++i)
    weights += (as_vector(support.points[i], support.dim) - mean) * factors.row(index(i));
  return weights;
}

// The same by the covariance; for more points than dimensions.
Dense weights_by_covariance(const LabelledPoints& support, const Eigen::VectorXd& mean,
                            double strength) {
  const Eigen::VectorXd shares = shares_of(support.labels, support.classes);
  const Dense targets = targets_of(support.labels, support.classes);
  const auto n = static_cast<double>(support.points.size());
  Scatter scatter(support.dim);
  Dense right = Dense::Zero(index(support.dim), index(support.classes));
  for (std::size_t i = 0; i < support.points.size(); ++i) {
    const Eigen::VectorXd centred = as_vector(support.points[i], support.dim) - mean;
    const double root = std::sqrt(n * shares[index(i)]);
    scatter.begin_row();
    for (std::size_t d = 0; d < support.dim; ++d) scatter.set(d, root * centred[index(d)]);
    right += centred * (n * shares[index(i)] * targets.row(index(i)));
  }
  Dense left = scatter.sums();
  const double spread = left.trace() / n;
  if (!(spread > kLeastSpread)) return Dense::Zero(index(support.dim), index(support.classes));
  left.diagonal().array() += strength * spread;
  fix_block_sizes();
  return left.llt().solve(right);
}

}  // namespace

Matrix<double> products_of(std::span<const double* const> points, std::size_t dim,
                           unsigned threads) {
  const std::size_t n = points.size();
  Matrix<double> products(n, n);
  constexpr std::size_t rows_at_once = 16;
  parallel_for(threads, n, rows_at_once, [&](std::size_t begin, std::size_t end, unsigned) {
    kernels::add_dots(kernels::active(),
                      kernels::DotProducts<double>{.queries = points.data(),
                                                   .query_count = n,
                                                   .centers = points.data() + begin,
                                                   .center_count = end - begin,
                                                   .length = padded(dim),
                                                   .out = products.row(begin),
                                                   .center_stride = products.stride()});
  });
  return products;
}

BalancedRidge::BalancedRidge(const LabelledPoints& support, double strength, unsigned threads)
    : weights_(support.classes, support.dim), offsets_(support.classes) {
  const Eigen::VectorXd shares = shares_of(support.labels, support.classes);
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(index(support.dim));
  for (std::size_t i = 0; i < support.points.size(); ++i)
    mean += shares[index(i)] * as_vector(support.points[i], support.dim);
  const Dense weights = support.points.size() <= support.dim
                            ? weights_by_products(support, mean, strength, threads)
                            : weights_by_covariance(support, mean, strength);
  for (std::size_t k = 0; k < support.classes; ++k) {
    const auto column = weights.col(index(k));
    std::copy(column.begin(), column.end(), weights_.row(k));
    offsets_[k] = 1.0 / static_cast<double>(support.classes) - column.dot(mean);
  }
}

void BalancedRidge::scores(const double* point, std::span<double> out) const {
  std::vector<const double*> weights(weights_.rows());
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = weights_.row(k);
  std::ranges::copy(offsets_, out.begin());
  kernels::add_dots(kernels::active(), kernels::DotProducts<double>{.queries = weights.data(),
                                                                    .query_count = weights.size(),
                                                                    .centers = &point,
                                                                    .center_count = 1,
                                                                    .length = weights_.stride(),
                                                                    .out = out.data()});
}

void BalancedRidge::scores_by_products(const Matrix<double>& products,
                                       std::span<const std::size_t> from,
                                       std::span<const std::size_t> labels, std::size_t classes,
                                       std::span<const std::size_t> of,
                                       std::span<const double> strengths,
                                       std::span<const MatrixView<double>> out) {
  const RidgeByProducts ridge(products, from, labels, classes);
  for (std::size_t s = 0; s < strengths.size(); ++s) ridge.scores(strengths[s], of, out[s]);
}

}  // namespace deepvoro
