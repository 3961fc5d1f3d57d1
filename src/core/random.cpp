#include "deepvoro/core/random.hpp"

#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

std::uint32_t LegacyRandom::interval(std::uint32_t largest) {
  const std::uint32_t mask = ~std::uint32_t{0} >> std::countl_zero(largest);
  for (;;) {
    const auto word = static_cast<std::uint32_t>(words_()) & mask;
    if (word <= largest) return word;
  }
}

void LegacyRandom::shuffle(std::span<std::size_t> items) {
  if (items.size() > std::numeric_limits<std::uint32_t>::max())
    throw usage_error("cannot shuffle more than 2^32 - 1 items");
  for (std::size_t i = items.size(); i-- > 1;)
    std::swap(items[i], items[interval(static_cast<std::uint32_t>(i))]);
}

std::vector<std::size_t> LegacyRandom::permutation(std::size_t count) {
  std::vector<std::size_t> items(count);
  std::iota(items.begin(), items.end(), std::size_t{0});
  shuffle(items);
  return items;
}

double LegacyRandom::uniform(double low, double high) {
  const auto first = static_cast<std::uint32_t>(words_()) >> 5U;
  const auto second = static_cast<std::uint32_t>(words_()) >> 6U;
  const double share = (first * 0x1p26 + second) / 0x1p53;
  return low + (high - low) * share;
}

}  // namespace deepvoro
