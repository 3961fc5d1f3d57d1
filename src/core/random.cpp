#include "core/random.hpp"

#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

// From the last item down, each is exchanged with one that is not behind it, drawn by masked
// rejection of 32-bit words. A third of the words are rejected, in no order that a processor could
// foresee, so a rejected word exchanges an item with itself instead of branching.
void LegacyRandom::shuffle(std::span<std::size_t> items) {
  if (items.size() > std::numeric_limits<std::uint32_t>::max())
    throw usage_error("cannot shuffle more than 2^32 - 1 items");
  for (std::size_t last = items.size() - (items.empty() ? 0 : 1); last > 0;) {
    const std::size_t half = std::bit_floor(last);
    const std::size_t mask = 2 * half - 1;
    while (last >= half) {
      const std::size_t drawn = words_() & mask;
      const bool is_accepted = drawn <= last;
      const std::size_t other = is_accepted ? drawn : last;
      std::swap(items[last], items[other]);
      last -= is_accepted ? 1 : 0;
    }
  }
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
