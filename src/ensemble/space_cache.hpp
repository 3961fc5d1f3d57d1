#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "deepvoro/ensemble/pool.hpp"

namespace deepvoro {

// The spaces of members that have one, fitted on the base classes of a store. They are kept for
// those who ask again, up to so many bytes of them. Belongs to one thread.
class SpaceCache {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

  explicit SpaceCache(const FeatureStore& store, std::size_t most_bytes = kMostBytes)
      : store_(store), most_bytes_(most_bytes) {}

  // One for each member. What is not kept is fitted, members side by side on several threads.
  [[nodiscard]] std::vector<std::shared_ptr<const Space>> spaces(std::span<const Member> members,
                                                                 unsigned threads);

 private:
  struct Kept {
    Member member;
    std::shared_ptr<const Space> space;
  };
  [[nodiscard]] std::shared_ptr<const Space> kept(const Member& member) const;

  const FeatureStore& store_;
  std::size_t most_bytes_;
  std::vector<Kept> kept_;
  std::size_t bytes_ = 0;
};

}  // namespace deepvoro
