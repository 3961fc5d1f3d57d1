#include "core/random.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

namespace {

// The next of a state, from the two it lies between and the one it is joined with.
std::uint32_t twisted(std::uint32_t own, std::uint32_t next, std::uint32_t joined) {
  const std::uint32_t both = (own & 0x80000000U) | (next & 0x7fffffffU);
  return joined ^ (both >> 1U) ^ ((0U - (both & 1U)) & 0x9908b0dfU);
}

std::uint32_t tempered(std::uint32_t word) {
  word ^= word >> 11U;
  word ^= (word << 7U) & 0x9d2c5680U;
  word ^= (word << 15U) & 0xefc60000U;
  return word ^ (word >> 18U);
}

void check_items(std::size_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max())
    throw usage_error("cannot shuffle more than 2^32 - 1 items");
}

}  // namespace

LegacyRandom::Words::Words(std::uint32_t seed) {
  state_[0] = seed;
  for (std::uint32_t i = 1; i < kCount; ++i)
    state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30U)) + i;
}

void LegacyRandom::Words::refill() {
  constexpr std::size_t distance = 397;
  constexpr std::size_t wrapped = kCount - distance;
  for (std::size_t i = 0; i < wrapped; ++i)
    state_[i] = twisted(state_[i], state_[i + 1], state_[i + distance]);
  for (std::size_t i = wrapped; i + 1 < kCount; ++i)
    state_[i] = twisted(state_[i], state_[i + 1], state_[i - wrapped]);
  state_.back() = twisted(state_.back(), state_.front(), state_[distance - 1]);
  for (std::size_t i = 0; i < kCount; ++i) ready_[i] = tempered(state_[i]);
  taken_ = 0;
}

// From the last item down, each is exchanged with one that is not behind it, drawn by masked
// rejection of 32-bit words. A third of the words are rejected, in no order that a processor could
// foresee, so a rejected word is taken without a branch: it exchanges an item with itself.
template <class Exchange>
void LegacyRandom::exchange(std::size_t last, std::size_t end, const Exchange& with) {
  while (last >= end) {
    const std::size_t half = std::bit_floor(last);
    const std::size_t mask = 2 * half - 1;
    for (const std::size_t lowest = std::max(half, end); last >= lowest;) {
      const std::size_t drawn = words_() & mask;
      const bool is_accepted = drawn <= last;
      with(last, is_accepted ? drawn : last);
      last -= is_accepted ? 1 : 0;
    }
  }
}

void LegacyRandom::shuffle(std::span<std::size_t> items) {
  check_items(items.size());
  if (items.empty()) return;
  exchange(items.size() - 1, 1,
           [&](std::size_t last, std::size_t other) { std::swap(items[last], items[other]); });
}

// What an item that is not wanted is exchanged with stays behind all that are exchanged later, so
// it need not be moved there.
void LegacyRandom::begin_permutation(std::size_t count, std::span<std::size_t> first) {
  check_items(count);
  if (count == 0) return;
  items_.resize(count);
  std::iota(items_.begin(), items_.end(), std::uint32_t{0});
  exchange(
      count - 1, std::max<std::size_t>(first.size(), 1),
      [items = items_.data()](std::size_t last, std::size_t other) { items[other] = items[last]; });
  std::copy_n(items_.begin(), first.size(), first.begin());
  shuffle(first);
}

std::vector<std::size_t> LegacyRandom::permutation(std::size_t count) {
  std::vector<std::size_t> items(count);
  std::iota(items.begin(), items.end(), std::size_t{0});
  shuffle(items);
  return items;
}

double LegacyRandom::uniform(double low, double high) {
  const auto first = words_() >> 5U;
  const auto second = words_() >> 6U;
  const double share = (first * 0x1p26 + second) / 0x1p53;
  return low + (high - low) * share;
}

}  // namespace deepvoro
