#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace deepvoro {

// NumPy's legacy generator (`numpy.random.RandomState(seed)`), the parts that shuffle
// and that draw uniformly, bit for bit.
class LegacyRandom {
 public:
  explicit LegacyRandom(std::uint32_t seed) : words_(seed) {}

  // RandomState.shuffle
  void shuffle(std::span<std::size_t> items);
  // RandomState.permutation(count)
  [[nodiscard]] std::vector<std::size_t> permutation(std::size_t count);
  // The beginning of what permutation(count) would be, as long as `first`, which is not longer; as
  // many words are used up. Quicker where that is short.
  void begin_permutation(std::size_t count, std::span<std::size_t> first);
  // RandomState.uniform(low, high)
  [[nodiscard]] double uniform(double low, double high);

 private:
  // Those of std::mt19937. It makes them ready one at a time, where a processor makes several.
  class Words {
   public:
    explicit Words(std::uint32_t seed);
    std::uint32_t operator()() {
      if (taken_ == kCount) refill();
      return ready_[taken_++];
    }

   private:
    static constexpr std::size_t kCount = 624;
    void refill();

    std::array<std::uint32_t, kCount> state_;
    std::array<std::uint32_t, kCount> ready_;
    std::size_t taken_ = kCount;
  };

  // Calls with(item, other) for each item from `last` down to `end`, which is at least 1: what it
  // is exchanged with, and before that any number of times itself.
  template <class Exchange>
  void exchange(std::size_t last, std::size_t end, const Exchange& with);

  Words words_;
  std::vector<std::uint32_t> items_;  // scratch of begin_permutation
};

}  // namespace deepvoro
