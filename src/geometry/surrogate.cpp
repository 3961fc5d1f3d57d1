#include "deepvoro/geometry/surrogate.hpp"

#include <algorithm>
#include <limits>

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
  const std::size_t levels = std::min(largest_R, bases);
  const std::size_t never = levels + 1;
  joins_at_.assign(bases, never);
  const std::size_t sorted = std::min(levels + 1, bases);  // one more, to see whether it is close
  for (std::size_t k = 0; k < distances.rows(); ++k) {
    const std::span<const Real> of_prototype = distances[k];
    find_nearest(of_prototype, sorted);
    settle_close_ones(of_prototype, k, sorted, exact);
    for (std::size_t place = 0; place < levels; ++place)
      joins_at_[order_[place]] = std::min(joins_at_[order_[place]], place + 1);
  }

  joined_.clear();
  begin_.assign(1, 0);
  for (std::size_t R = 1; R <= levels; ++R) {
    for (std::size_t t = 0; t < bases; ++t)
      if (joins_at_[t] == R) joined_.push_back(t);
    begin_.push_back(joined_.size());
  }
}

// Fills order_ with the `count` nearest base classes, sorted; of equals the first is ahead. The
// nearest is taken out again and again; the nearest of each block of base classes is remembered, so
// that only the block it came from is looked through again.
template <class Real>
void SurrogateClasses<Real>::find_nearest(std::span<const Real> distances, std::size_t count) {
  constexpr std::size_t width = 16;
  constexpr Real taken = std::numeric_limits<Real>::infinity();
  const std::size_t blocks = (distances.size() + width - 1) / width;
  left_.assign(blocks * width, taken);
  std::ranges::copy(distances, left_.begin());
  nearest_.resize(blocks);
  const auto look_through = [&](std::size_t block) {
    std::size_t at = block * width;
    Real smallest = left_[at];
    for (std::size_t i = at + 1; i < (block + 1) * width; ++i) {
      const bool smaller = left_[i] < smallest;
      smallest = smaller ? left_[i] : smallest;
      at = smaller ? i : at;
    }
    nearest_[block] = at;
  };
  for (std::size_t block = 0; block < blocks; ++block) look_through(block);
  order_.clear();
  while (order_.size() < count) {
    std::size_t at = nearest_[0];
    for (const std::size_t other : nearest_) at = left_[other] < left_[at] ? other : at;
    order_.push_back(at);
    left_[at] = taken;
    look_through(at / width);
  }
}

// A base class outside the sorted ones can be as close as the last of them.
template <class Real>
void SurrogateClasses<Real>::add_close_ones_beyond(std::span<const Real> distances, std::size_t way,
                                                   const ExactDistance& exact) {
  const Real last = distances[order_.back()];
  for (std::size_t t = 0; t < distances.size(); ++t)
    if (distances[t] >= last && distances[t] - last <= kResolution<Real> * distances[t] &&
        std::ranges::find(order_, t) == order_.end())
      close_.emplace_back(exact(way, t), t);
}

template <class Real>
void SurrogateClasses<Real>::settle_close_ones(std::span<const Real> distances, std::size_t way,
                                               std::size_t sorted, const ExactDistance& exact) {
  for (std::size_t begin = 0; begin < sorted;) {
    std::size_t end = begin + 1;
    while (end < sorted && distances[order_[end]] - distances[order_[end - 1]] <=
                               kResolution<Real> * distances[order_[end]])
      ++end;
    if (end - begin > 1) {
      close_.clear();

      for (std::size_t i = begin; i < end; ++i)
        close_.emplace_back(exact(way, order_[i]), order_[i]);
      if (end == sorted) add_close_ones_beyond(distances, way, exact);

      std::ranges::sort(close_);
      for (std::size_t i = begin; i < end; ++i) order_[i] = close_[i - begin].second;
    }
    begin = end;
  }
}

template <class Real>
std::span<const std::size_t> SurrogateClasses<Real>::joining_at(std::size_t R) const {
  if (R >= begin_.size()) return {};
  return {joined_.data() + begin_[R - 1], begin_[R] - begin_[R - 1]};
}

template class SurrogateClasses<float>;
template class SurrogateClasses<double>;

}  // namespace deepvoro
