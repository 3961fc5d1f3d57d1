#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deepvoro/ensemble/oracle.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "deepvoro/episodes/statistics.hpp"
#include "ensemble/engine.hpp"
#include "ensemble/greedy.hpp"
#include "episodes/episode_stream.hpp"

namespace deepvoro {

[[nodiscard]] EpisodeStream episode_stream(const FeatureStore& store, const std::string& split,
                                           const EpisodePlan& plan);
[[nodiscard]] EpisodeList draw_episodes(const FeatureStore& store, const std::string& split,
                                        const EpisodePlan& plan);
// Of the split val, on which `scheme` chooses.
[[nodiscard]] EpisodeList draw_validation_episodes(const FeatureStore& store,
                                                   const EpisodePlan& plan, const char* scheme);

// Members ranked by their accuracy on the validation split, and the accuracy there of the ensemble
// of the best 1, 2, ... of them. It can be made from the validation split alone, so whatever is
// chosen from it is chosen honestly.
class ValidationRanking {
 public:
  static ValidationRanking measure(const FeatureStore& store, const Pool& pool,
                                   const EpisodePlan& plan, Influence influence, unsigned threads,
                                   const Progress& progress = {}, SpaceCache* spaces = nullptr);

  [[nodiscard]] const Pool& ranked() const { return ranked_; }
  [[nodiscard]] const std::vector<double>& member_accuracy() const { return member_accuracy_; }
  // ensemble_accuracy()[L - 1]: of the L best members together.
  [[nodiscard]] const std::vector<double>& ensemble_accuracy() const { return ensemble_accuracy_; }
  [[nodiscard]] std::size_t best_size() const;

 private:
  ValidationRanking() = default;
  Pool ranked_;
  std::vector<double> member_accuracy_;
  std::vector<double> ensemble_accuracy_;
};

// The members that take part in an evaluation. There is no way to make one from results on the
// split that is evaluated.
class Selection {
 public:
  static Selection full(Pool pool);
  static Selection random(const Pool& pool, std::size_t size, std::uint32_t seed);
  // The best members by validation, as many as did best together there, or `size` of them.
  static Selection guided(const ValidationRanking& ranking, std::optional<std::size_t> size = {});
  static Selection greedy(const GreedyEnsemble& ensemble);

  [[nodiscard]] const Pool& members() const { return members_; }

 private:
  explicit Selection(Pool members) : members_(std::move(members)) {}
  Pool members_;
};

}  // namespace deepvoro
