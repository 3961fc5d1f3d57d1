#include "picture/resize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "deepvoro/picture/decode.hpp"
#include "resize_kernels.hpp"

namespace deepvoro {
namespace {

const resize::Kernels& choose_kernels() {
#ifdef DEEPVORO_X86_KERNELS
  const char* wanted = std::getenv("DEEPVORO_ISA");
  const bool generic = wanted != nullptr && std::string_view(wanted) == "generic";
  if (!generic && __builtin_cpu_supports("avx2")) return resize::avx2_table;
#endif
  return resize::generic_table;
}

const resize::Kernels& kernels() {
  static const resize::Kernels& chosen = choose_kernels();
  return chosen;
}

double support(Filter filter) {
  return filter == Filter::bilinear ? 1.0 : 2.0;
}

double value(Filter filter, double x) {
  x = std::abs(x);
  if (filter == Filter::bilinear) return x < 1.0 ? 1.0 - x : 0.0;
  constexpr double a = -0.5;
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

// Which inputs make an output, and with what weights: the numbers of Pillow's Resample.c, operation
// by operation, because a weight that is rounded differently changes pixels.
class Weights {
 public:
  void prepare(std::size_t inputs, std::size_t outputs, Filter filter) {
    if (inputs == inputs_ && outputs == first_.size() && filter == filter_) return;
    inputs_ = inputs;
    filter_ = filter;
    const double scale = static_cast<double>(inputs) / static_cast<double>(outputs);
    const double widening = std::max(scale, 1.0);
    const double reach = support(filter) * widening;
    most_ = static_cast<std::size_t>(std::ceil(reach)) * 2 + 1;
    first_.resize(outputs);
    count_.resize(outputs);
    weights_.assign(outputs * most_, 0);
    std::vector<double> exact(most_);
    for (std::size_t i = 0; i < outputs; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * scale;
      const int begin = std::max(0, static_cast<int>(std::floor(center - reach + 0.5)));
      const int end =
          std::min(static_cast<int>(inputs), static_cast<int>(std::floor(center + reach + 0.5)));
      first_[i] = begin;
      count_[i] = end - begin;
      const auto count = static_cast<std::size_t>(end - begin);
      double sum = 0;
      for (std::size_t t = 0; t < count; ++t) {
        const double place = static_cast<double>(t) + begin - center + 0.5;
        exact[t] = value(filter, place * (1.0 / widening));
        sum += exact[t];
      }
      for (std::size_t t = 0; t < count; ++t) weights_[i * most_ + t] = whole(exact[t] / sum);
    }
    spread_out();
  }

  [[nodiscard]] resize::Taps taps() const {
    return {first_.size(),   most_,         first_.data(), count_.data(),
            weights_.data(), most_groups(), spread_.data()};
  }
  [[nodiscard]] std::size_t first_input() const { return static_cast<std::size_t>(first_.front()); }
  [[nodiscard]] std::size_t end_input() const {
    return static_cast<std::size_t>(first_.back()) + static_cast<std::size_t>(count_.back());
  }

 private:
  static std::int32_t whole(double weight) {
    const double scaled = weight * (1 << resize::kWeightBits);
    return static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  }

  [[nodiscard]] std::size_t most_groups() const {
    return (most_ + resize::kGroup - 1) / resize::kGroup;
  }

  // Weights 0 1 0 1 0 1 - - 2 3 2 3 2 3 - - of each group: a pair for each channel.
  void spread_out() {
    spread_.assign(first_.size() * most_groups() * 2 * resize::kSpread, 0);
    for (std::size_t i = 0; i < first_.size(); ++i)
      for (std::size_t t = 0; t < static_cast<std::size_t>(count_[i]); ++t) {
        const std::int32_t weight = weights_[i * most_ + t];
        std::int16_t* upper =
            &spread_[(i * most_groups() + t / resize::kGroup) * 2 * resize::kSpread];
        for (std::size_t channel = 0; channel < kChannels; ++channel) {
          const std::size_t place =
              t % resize::kGroup / 2 * (resize::kSpread / 2) + channel * 2 + t % 2;
          upper[place] = static_cast<std::int16_t>(weight >> resize::kLowerBits);
          upper[resize::kSpread + place] =
              static_cast<std::int16_t>(weight & ((1 << resize::kLowerBits) - 1));
        }
      }
  }

  std::size_t inputs_ = 0;
  Filter filter_ = Filter::bilinear;
  std::size_t most_ = 0;
  std::vector<std::int32_t> first_;
  std::vector<std::int32_t> count_;
  std::vector<std::int32_t> weights_;
  std::vector<std::int16_t> spread_;
};

// Rows of bytes that may be read and written resize::kSlack bytes beyond their end. What is in them
// after prepare() is left over from before.
class Rows {
 public:
  void prepare(std::size_t rows, std::size_t bytes) {
    stride_ = bytes + resize::kSlack;
    const std::size_t needed = rows * stride_ + resize::kSlack;
    if (bytes_.size() < needed || bytes_.size() > kMostKept) {
      bytes_.resize(needed);
      bytes_.shrink_to_fit();
    }
  }
  [[nodiscard]] std::uint8_t* row(std::size_t i) { return bytes_.data() + i * stride_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }

 private:
  static constexpr std::size_t kMostKept = std::size_t{16} << 20U;
  std::size_t stride_ = 0;
  std::vector<std::uint8_t> bytes_;
};

// What a thread keeps between pictures: to get memory from the system takes longer than to resize a
// small picture.
struct Scratch {
  Weights across;
  Weights down;
  Rows narrow;      // all rows that are needed, at the new width
  Rows with_slack;  // copies of the last rows of the picture, which has none
  Rows line;
};

// Rows `begin` to `end` of the picture, resized to the given width or as they are.
void across(const Bitmap& bitmap, std::size_t begin, std::size_t end, std::size_t width,
            Filter filter, Scratch& scratch) {
  const std::size_t bytes = bitmap.width * kChannels;
  // The last rows of an odd number are made more than once: rounded up.
  scratch.narrow.prepare(end - begin + resize::kRowsAtOnce, width * kChannels);
  if (width == bitmap.width) {
    for (std::size_t y = begin; y < end; ++y)
      std::memcpy(scratch.narrow.row(y - begin), bitmap.pixels.data() + y * bytes, bytes);
    return;
  }
  scratch.across.prepare(bitmap.width, width, filter);
  scratch.with_slack.prepare(resize::kRowsAtOnce, bytes);
  const resize::Taps taps = scratch.across.taps();
  for (std::size_t y = begin; y < end; y += resize::kRowsAtOnce) {
    std::array<const std::uint8_t*, resize::kRowsAtOnce> in{};
    std::array<std::uint8_t*, resize::kRowsAtOnce> out{};
    for (std::size_t r = 0; r < resize::kRowsAtOnce; ++r) {
      const std::size_t from = std::min(y + r, end - 1);
      in[r] = bitmap.pixels.data() + from * bytes;
      out[r] = scratch.narrow.row(y + r - begin);
      if ((from + 1) * bytes + resize::kSlack > bitmap.pixels.size()) {
        std::memcpy(scratch.with_slack.row(r), in[r], bytes);
        in[r] = scratch.with_slack.row(r);
      }
    }
    kernels().across(taps, in.data(), out.data());
  }
}

void check(const Bitmap& bitmap, std::size_t width, std::size_t height) {
  const PictureLimits limits;
  if (bitmap.width == 0 || bitmap.height == 0)
    throw usage_error("a picture without pixels cannot be resized");
  if (bitmap.pixels.size() != bitmap.width * bitmap.height * kChannels)
    throw usage_error(fmt::format("a picture of {} x {} has {} bytes", bitmap.width, bitmap.height,
                                  bitmap.pixels.size()));
  if (width == 0 || height == 0 || std::max(width, height) > limits.most_side ||
      width * height > limits.most_pixels)
    throw usage_error(fmt::format("a picture cannot be resized to {} x {}", width, height));
}

}  // namespace

Bitmap resized(const Bitmap& bitmap, std::size_t width, std::size_t height, Filter filter) {
  check(bitmap, width, height);
  if (width == bitmap.width && height == bitmap.height) return bitmap;
  thread_local Scratch scratch;
  scratch.down.prepare(bitmap.height, height, filter);
  const std::size_t begin = scratch.down.first_input();
  across(bitmap, begin, scratch.down.end_input(), width, filter, scratch);

  const std::size_t bytes = width * kChannels;
  Bitmap result{width, height, {}};
  result.pixels.reserve(bytes * height);
  scratch.line.prepare(1, bytes);
  std::uint8_t* line = scratch.line.row(0);
  const resize::Taps taps = scratch.down.taps();
  for (std::size_t y = 0; y < height; ++y) {
    const auto first = static_cast<std::size_t>(taps.first[y]) - begin;
    kernels().down(taps.weights + y * taps.most, static_cast<std::size_t>(taps.count[y]),
                   scratch.narrow.row(first), scratch.narrow.stride(), bytes, line);
    result.pixels.insert(result.pixels.end(), line, line + bytes);
  }
  return result;
}

}  // namespace deepvoro
