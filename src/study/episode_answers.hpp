#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deepvoro/episodes/episode.hpp"

namespace deepvoro {

// What came of some episodes that follow each other, as far as results need it.
struct EpisodeAnswers {
  std::vector<double> accuracy;        // percent
  std::vector<std::uint32_t> answers;  // the way that each query was taken for, episode by episode

  // One more episode, by its scores [queries x ways].
  void add(std::span<const double> scores, const EpisodeShape& shape);
  // As bytes of a file.
  [[nodiscard]] std::vector<std::byte> bytes() const;
};

// The answers of `episodes` episodes that bytes() wrote; none where it cannot have.
[[nodiscard]] bool read_episode_answers(std::span<const std::byte> bytes, std::size_t episodes,
                                        const EpisodeShape& shape, EpisodeAnswers& out);

}  // namespace deepvoro
