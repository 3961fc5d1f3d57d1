#include "deepvoro/geometry/surrogate.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/kernels.hpp"
#include "surrogate_distances.hpp"

namespace deepvoro {
namespace {

// Distances that differ by less, relatively, may be in either order.
template <class Real>
constexpr Real kResolution = 16 * std::numeric_limits<Real>::epsilon();

}  // namespace

template <class Real>
void SurrogateClasses<Real>::select(MatrixView<const Real> distances, std::size_t largest_R,
                                    const ExactDistance& exact) {
  const std::size_t bases = distances.cols();
  levels_ = std::min(largest_R, bases);
  const std::size_t never = levels_ + 1;
  joins_at_.assign(bases, never);
  for (std::size_t k = 0; k < distances.rows(); ++k) {
    const std::span<const Real> of_prototype = distances[k];
    sort(of_prototype);
    settle_close_ones(of_prototype, k, exact);
    for (std::size_t place = 0; place < levels_; ++place)
      joins_at_[order_[place]] = std::min(joins_at_[order_[place]], place + 1);
  }

  // Those that never join are counted and sorted like the others: which ones do, no branch could
  // foresee.
  begin_.assign(never + 1, 0);
  for (const std::size_t R : joins_at_) ++begin_[R];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  next_ = begin_;
  joined_.resize(bases);
  for (std::size_t t = 0; t < bases; ++t) joined_[next_[joins_at_[t] - 1]++] = t;
}

// Fills order_ with all base classes; of equals the first is ahead.
template <class Real>
void SurrogateClasses<Real>::sort(std::span<const Real> distances) {
  ranks_.resize(padded(distances.size()));
  kernels::ranks(kernels::active(), distances.data(), distances.size(), ranks_.data());
  order_.resize(distances.size());
  for (std::size_t t = 0; t < distances.size(); ++t) order_[ranks_[t]] = t;
}

template <class Real>
void SurrogateClasses<Real>::settle_close_ones(std::span<const Real> distances, std::size_t way,
                                               const ExactDistance& exact) {
  const auto is_close_to_next = [&](std::size_t place) {
    const Real next = distances[order_[place + 1]];
    return next - distances[order_[place]] <= kResolution<Real> * next;
  };
  for (std::size_t begin = 0; begin < levels_;) {
    std::size_t end = begin + 1;
    while (end < order_.size() && is_close_to_next(end - 1)) ++end;
    if (end - begin > 1) {
      close_.clear();
      for (std::size_t i = begin; i < end; ++i)
        close_.emplace_back(exact(way, order_[i]), order_[i]);
      std::ranges::sort(close_);
      for (std::size_t i = begin; i < end; ++i) order_[i] = close_[i - begin].second;
    }
    begin = end;
  }
}

template <class Real>
std::span<const std::size_t> SurrogateClasses<Real>::joining_at(std::size_t R) const {
  if (R > levels_) return {};
  return std::span(joined_).subspan(begin_[R - 1], begin_[R] - begin_[R - 1]);
}

template <class Real>
void SurrogateFit<Real>::fit(const CenterDistances<Real>& centers, const Geometry& last) {
  to_base_ = centers.to_base;
  classes_.select(to_base_, last.known_as<Surrogate>().R, centers.exact_to_base);
}

template <class Real>
SurrogateDistances<Real>::SurrogateDistances(std::size_t classes, std::size_t queries)
    : features_(classes, queries),
      squared_(classes, queries),
      shares_(classes, queries),
      values_(classes, queries),
      scales_(1, queries) {}

template <class Real>
void SurrogateDistances<Real>::begin(const GeometryFit<Real>& fit,
                                     const QueryDistances<Real>& queries) {
  fit_ = static_cast<const SurrogateFit<Real>*>(&fit);
  gather(queries.to_base);
  grown_to_ = 0;
  shares_are_present_ = false;
  const MatrixView<const Real> distances = queries.to_centers;
  const std::size_t stride = distances.stride();
  std::fill_n(squared_.row(0), squared_.rows() * stride, Real{0});
  Real* scales = scales_.row(0);
  std::fill_n(scales, stride, Real{0});
  for (std::size_t k = 0; k < distances.rows(); ++k)
    for (std::size_t q = 0; q < stride; ++q) scales[q] += distances.row(k)[q];
  for (std::size_t q = 0; q < stride; ++q) scales[q] = scales[q] > 0 ? 1 / scales[q] : Real{0};
  for (std::size_t k = 0; k < distances.rows(); ++k)
    for (std::size_t q = 0; q < stride; ++q) features_.row(k)[q] = distances.row(k)[q] * scales[q];
}

// Distances of queries and centers from the base classes that join sooner or later, in that order.
template <class Real>
void SurrogateDistances<Real>::gather(std::span<const Real* const> queries_to_base) {
  const std::span<const std::size_t> joined = fit_->classes().joined();
  if (of_queries_.rows() < joined.size()) of_queries_ = Matrix<Real>(joined.size(), scales_.cols());
  std::size_t q = 0;
  for (; q + 4 <= queries_to_base.size(); q += 4) {
    const Real* const* rows = queries_to_base.data() + q;
    for (std::size_t t = 0; t < joined.size(); ++t)
      for (std::size_t i = 0; i < 4; ++i) of_queries_.row(t)[q + i] = rows[i][joined[t]];
  }
  for (; q < queries_to_base.size(); ++q)
    for (std::size_t t = 0; t < joined.size(); ++t)
      of_queries_.row(t)[q] = queries_to_base[q][joined[t]];

  const MatrixView<const Real> centers_to_base = fit_->centers_to_base();
  of_centers_.clear();
  for (const std::size_t base : joined)
    for (std::size_t k = 0; k < squared_.rows(); ++k)
      of_centers_.push_back(centers_to_base.row(k)[base]);
}

template <class Real>
void SurrogateDistances<Real>::grow_to(std::size_t R) {
  const SurrogateClasses<Real>& classes = fit_->classes();
  const std::size_t ways = squared_.rows();
  while (grown_to_ < std::min(R, classes.levels())) {
    const std::span<const std::size_t> joining = classes.joining_at(++grown_to_);
    if (joining.empty()) continue;
    shares_are_present_ = false;
    const auto first = static_cast<std::size_t>(joining.data() - classes.joined().data());
    kernels::grow_surrogate(kernels::active(), kernels::SurrogateGrowth<Real>{
                                                   .of_queries = of_queries_.row(first),
                                                   .of_ways = of_centers_.data() + first * ways,
                                                   .joining = joining.size(),
                                                   .ways = ways,
                                                   .stride = squared_.stride(),
                                                   .sums = squared_.row(0)});
  }
}

template <class Real>
MatrixView<const Real> SurrogateDistances<Real>::of(const Geometry& member) {
  const auto& surrogate = member.known_as<Surrogate>();
  grow_to(surrogate.R);
  const kernels::Table& kernels = kernels::active();
  const std::size_t stride = squared_.stride();
  if (!shares_are_present_)
    kernels::surrogate_shares(kernels, squared_.row(0), squared_.rows(), stride, shares_.row(0));
  shares_are_present_ = true;
  kernels::combine(kernels, static_cast<Real>(surrogate.beta), features_.row(0),
                   static_cast<Real>(surrogate.gamma), shares_.row(0), squared_.rows() * stride,
                   values_.row(0));
  return values_.view();
}

std::unique_ptr<GeometryFit<float>> Surrogate::make_fit(float) const {
  return std::make_unique<SurrogateFit<float>>();
}
std::unique_ptr<GeometryFit<double>> Surrogate::make_fit(double) const {
  return std::make_unique<SurrogateFit<double>>();
}
std::unique_ptr<GeometryDistances<float>> Surrogate::make_distances(std::size_t classes,
                                                                    std::size_t queries,
                                                                    float) const {
  return std::make_unique<SurrogateDistances<float>>(classes, queries);
}
std::unique_ptr<GeometryDistances<double>> Surrogate::make_distances(std::size_t classes,
                                                                     std::size_t queries,
                                                                     double) const {
  return std::make_unique<SurrogateDistances<double>>(classes, queries);
}

template class SurrogateClasses<float>;
template class SurrogateClasses<double>;
template class SurrogateFit<float>;
template class SurrogateFit<double>;
template class SurrogateDistances<float>;
template class SurrogateDistances<double>;

}  // namespace deepvoro
