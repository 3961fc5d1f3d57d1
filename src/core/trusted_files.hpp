#pragma once

#include <atomic>
#include <cstdint>

namespace deepvoro {

// A small file can ask for much memory and time. One that asks for far more than its size explains
// is refused, unless whoever runs the program vouches for all files (`trust_files`).
inline std::atomic<bool> all_files_are_trusted{false};

inline constexpr const char* kHowToTrust = "if you know where it comes from, add `trust_files`";

// Whether bytes that were packed may become this many: real features and pictures grow by less than
// a tenth of this.
[[nodiscard]] inline bool is_usual_unpacked_size(std::uint64_t unpacked, std::uint64_t packed) {
  constexpr std::uint64_t harmless = std::uint64_t{256} << 20U;
  constexpr std::uint64_t usual_ratio = 100;
  return unpacked <= harmless || unpacked / usual_ratio <= packed;
}

}  // namespace deepvoro
