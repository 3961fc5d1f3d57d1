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
  // Uniform in 0..largest, by masked rejection of 32-bit words.
  std::uint32_t interval(std::uint32_t largest);

  std::mt19937 words_;
};

}  // namespace deepvoro
