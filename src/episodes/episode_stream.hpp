#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "deepvoro/episodes/episode.hpp"

namespace deepvoro {

// The episodes of draw_episodes(), drawn as far as they are asked for: whoever needs those of the
// beginning alone does not wait for the rest.
class EpisodeStream {
 public:
  // `count`: how many may be asked for.
  EpisodeStream(const SamplePool& samples, const EpisodeShape& shape, Protocol protocol,
                std::size_t count, std::uint32_t seed);

  // All that are drawn by now, at least `count` of them.
  [[nodiscard]] const EpisodeList& at_least(std::size_t count) &;
  [[nodiscard]] EpisodeList at_least(std::size_t count) && {
    (void)at_least(count);
    return std::move(episodes_);
  }
  [[nodiscard]] std::size_t drawn() const { return episodes_.size(); }

 private:
  void draw_one();
  // Which rows of its class a way has: the first of order_.
  void draw_way(std::size_t way, std::size_t rows);

  Protocol protocol_;
  std::size_t most_;
  std::vector<std::vector<SampleIndex>> classes_;  // rows of each
  LegacyRandom random_;
  EpisodeList episodes_;
  std::vector<std::size_t> chosen_;  // classes
  std::vector<std::size_t> order_;
  std::vector<SampleIndex> of_way_;
};

}  // namespace deepvoro
