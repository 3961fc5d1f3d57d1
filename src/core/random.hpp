#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
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
  // RandomState.uniform(low, high)
  [[nodiscard]] double uniform(double low, double high);

 private:
  // std::mt19937 on 32-bit words, which it may and does keep in 64 bits.
  using MersenneTwister =
      std::mersenne_twister_engine<std::uint32_t, 32, 624, 397, 31, 0x9908b0dfU, 11, 0xffffffffU, 7,
                                   0x9d2c5680U, 15, 0xefc60000U, 18, 1812433253U>;
  MersenneTwister words_;
};

}  // namespace deepvoro
