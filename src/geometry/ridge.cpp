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

// What the regression is in terms of products of points.
struct Dual {
  Eigen::VectorXd shares;
  Eigen::VectorXd with_mean;  // products of each point with the weighted mean
  double mean_squared = 0;    // product of the weighted mean with itself
  Dense factors;              // [points x classes]
};

Dual solved(const Dense& products, std::span<const std::size_t> labels, std::size_t classes) {
  fix_block_sizes();
  const Index n = products.rows();
  Dual dual{.shares = shares_of(labels, classes), .with_mean = {}, .factors = {}};
  dual.with_mean = products * dual.shares;
  dual.mean_squared = dual.shares.dot(dual.with_mean);
  Dense centred = products;
  centred.colwise() -= dual.with_mean;
  centred.rowwise() -= dual.with_mean.transpose();
  centred.array() += dual.mean_squared;
  const double strength = dual.shares.dot(centred.diagonal());
  if (!(strength > kLeastSpread)) {
    dual.factors = Dense::Zero(n, index(classes));
    return dual;
  }
  centred.diagonal().array() += strength / (static_cast<double>(n) * dual.shares.array());
  dual.factors = centred.llt().solve(targets_of(labels, classes));
  return dual;
}

Dense products_among(const Matrix<double>& products, std::span<const std::size_t> from) {
  Dense some(index(from.size()), index(from.size()));
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t j = 0; j < from.size(); ++j)
      some(index(j), index(i)) = products.row(from[i])[from[j]];
  return some;
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
                          unsigned threads) {
  const Matrix<double> products = products_of(support.points, support.dim, threads);
  const Dual dual = solved(products_among(products, numbers_up_to(support.points.size())),
                           support.labels, support.classes);
  Dense weights = Dense::Zero(index(support.dim), index(support.classes));
  for (std::size_t i = 0; i < support.points.size(); ++i)
    weights += (as_vector(support.points[i], support.dim) - mean) * dual.factors.row(index(i));
  return weights;
}

// The same by the covariance; for more points than dimensions.
Dense weights_by_covariance(const LabelledPoints& support, const Eigen::VectorXd& mean) {
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
  const double strength = left.trace() / n;
  if (!(strength > kLeastSpread)) return Dense::Zero(index(support.dim), index(support.classes));
  left.diagonal().array() += strength;
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

BalancedRidge::BalancedRidge(const LabelledPoints& support, unsigned threads)
    : weights_(support.classes, support.dim), offsets_(support.classes) {
  const Eigen::VectorXd shares = shares_of(support.labels, support.classes);
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(index(support.dim));
  for (std::size_t i = 0; i < support.points.size(); ++i)
    mean += shares[index(i)] * as_vector(support.points[i], support.dim);
  const Dense weights = support.points.size() <= support.dim
                            ? weights_by_products(support, mean, threads)
                            : weights_by_covariance(support, mean);
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
                                       std::span<const std::size_t> of, MatrixView<double> out) {
  const Dual dual = solved(products_among(products, from), labels, classes);
  Eigen::VectorXd with(index(from.size()));
  for (std::size_t q = 0; q < of.size(); ++q) {
    for (std::size_t i = 0; i < from.size(); ++i) with[index(i)] = products.row(of[q])[from[i]];
    const double with_mean = dual.shares.dot(with);
    with.array() += dual.mean_squared - with_mean - dual.with_mean.array();
    const Eigen::RowVectorXd scores = with.transpose() * dual.factors;
    for (std::size_t k = 0; k < classes; ++k)
      out[q][k] = scores[index(k)] + 1.0 / static_cast<double>(classes);
  }
}

}  // namespace deepvoro
