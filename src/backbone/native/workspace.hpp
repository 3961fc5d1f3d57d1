#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace deepvoro::native {

struct Shape {
  std::size_t count = 0;  // of pictures
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;

  [[nodiscard]] std::size_t places() const { return count * height * width; }
  [[nodiscard]] std::size_t size() const { return places() * channels; }
};

// Memory that grows to what was asked for, and is used again.
class Buffer {
 public:
  [[nodiscard]] float* room_for(std::size_t size) {
    if (size > this->size()) {
      memory_.reset();  // before there is more
      memory_ = std::make_unique_for_overwrite<float[]>(size);
      size_ = size;
    }
    return memory_.get();
  }
  [[nodiscard]] const float* begin() const { return memory_.get(); }
  [[nodiscard]] std::size_t size() const { return memory_ ? size_ : 0; }

 private:
  std::unique_ptr<float[]> memory_;
  std::size_t size_ = 0;
};

// Pictures, or what a step of a network makes of them, in channels-last order.
struct Maps {
  Shape shape = {};
  Buffer memory = {};

  [[nodiscard]] float* reshaped(const Shape& to) {
    shape = to;
    return memory.room_for(to.size());
  }
  [[nodiscard]] const float* values() const { return memory.begin(); }
};

// What one pass of a network needs besides its weights. For one thread at a time, which may start
// others.
class Workspace {
 public:
  explicit Workspace(unsigned thread_count)
      : threads(std::max(1U, thread_count)), scratch(threads) {}

  // Memory that is taken is given back for the next one to be used again, the largest first: it
  // seldom has to grow then.
  [[nodiscard]] Maps take() {
    if (free_.empty()) return {};
    const auto largest =
        std::ranges::max_element(free_, {}, [](const Maps& maps) { return maps.memory.size(); });
    std::swap(*largest, free_.back());
    Maps maps = std::move(free_.back());
    free_.pop_back();
    return maps;
  }
  void give_back(Maps maps) { free_.push_back(std::move(maps)); }

  unsigned threads;
  std::vector<Buffer> scratch;  // of each thread

 private:
  std::vector<Maps> free_;
};

}  // namespace deepvoro::native
