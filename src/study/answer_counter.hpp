#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "deepvoro/episodes/episode.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/study/answers.hpp"
#include "features/row_set.hpp"

namespace deepvoro {

// The way with the largest influence on each query, given [queries x ways]; the first of equals.
void read_answers(std::span<const double> scores, std::span<std::uint32_t> answers);

// Counts, episode by episode, what queries were taken for. Refers to the episodes.
class AnswerCounter {
 public:
  AnswerCounter(const FeatureStore& store, const std::string& split, const EpisodeList& episodes);

  // The way that each query of the next episode was taken for.
  void add(std::span<const std::uint32_t> answers);
  [[nodiscard]] Answers answers() const;

 private:
  struct Counted {
    std::uint64_t asked = 0;
    std::uint64_t wrong = 0;
    std::vector<std::pair<std::size_t, std::uint64_t>> taken_for;
  };
  struct Sums {  // over the episodes that have a class, of its right answers
    std::uint64_t episodes = 0;
    std::uint64_t right = 0;
    std::uint64_t squares = 0;
  };
  [[nodiscard]] std::vector<Answers::HardQuery> hardest() const;

  const EpisodeList& episodes_;
  std::vector<std::size_t> labels_;
  RowSet drawn_;
  FeatureStore::Split split_;
  std::size_t next_ = 0;
  std::vector<Counted> samples_;  // of the rows that are drawn
  std::vector<Sums> sums_;
  std::vector<std::uint64_t> confusion_;
};

}  // namespace deepvoro
