#pragma once

#include <atomic>
#include <cstdint>

namespace deepvoro {

// A small file can ask for much memory and time. One that asks for far more than its size explains
// is refused, unless whoever runs the program vouches for all files (`trust_files`). While one of
// these lives, every file is trusted, whichever thread reads it.
class TrustInAllFiles {
 public:
  TrustInAllFiles() { ++alive; }
  TrustInAllFiles(const TrustInAllFiles&) = delete;
  TrustInAllFiles& operator=(const TrustInAllFiles&) = delete;
  ~TrustInAllFiles() { --alive; }

  [[nodiscard]] static bool is_given() { return alive > 0; }

 private:
  inline static std::atomic<int> alive{0};
};

inline constexpr const char* kHowToTrust = "if you know where it comes from, add `trust_files`";

// Whether bytes that were packed may become this many: real features and pictures grow by less than
// a tenth of this.
[[nodiscard]] inline bool is_usual_unpacked_size(std::uint64_t unpacked, std::uint64_t packed) {
  constexpr std::uint64_t harmless = std::uint64_t{256} << 20U;
  constexpr std::uint64_t usual_ratio = 100;
  return unpacked <= harmless || unpacked / usual_ratio <= packed;
}

}  // namespace deepvoro
