#include "ensemble/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/random.hpp"
#include "deepvoro/core/error.hpp"
#include "ensemble/ensemble.hpp"
#include "ensemble/influence_field.hpp"

namespace deepvoro {
namespace {

void check_size(std::size_t size, std::size_t members) {
  if (size < 1 || size > members)
    throw usage_error(fmt::format(
        "`size` {}: must be from 1 to {}, the number of members in the pool", size, members));
}

// Correct queries, [sizes][episodes].
using CorrectCounts = std::vector<std::vector<std::uint32_t>>;

// Of the ensembles of the first 1, 2, ... members.
CorrectCounts counts_of_growing_ensemble(const EpisodeSetting& setting, const Pool& members,
                                         const Progress& progress) {
  const std::size_t episodes = setting.episodes.size();
  CorrectCounts correct(members.size(), std::vector<std::uint32_t>(episodes));
  const auto batches = field_batches(setting.episodes, setting.largest_field_bytes);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const EpisodeRange batch = batches[i];
    InfluenceField field(batch.end - batch.begin, setting.episodes.shape(), setting.influence);
    const auto count = [&](std::size_t member, std::size_t episode) {
      correct[member][episode] = field.correct_queries(episode - batch.begin);
    };
    add_members(setting, members, batch, field, count, part_of(progress, i, batches.size()));
  }
  return correct;
}

double mean_accuracy(const std::vector<std::uint32_t>& correct, const EpisodeShape& shape) {
  const auto total = std::accumulate(correct.begin(), correct.end(), std::uint64_t{0});
  return percent_of_queries(total, shape, correct.size());
}

std::vector<double> mean_accuracies(const CorrectCounts& counts, const EpisodeShape& shape) {
  std::vector<double> accuracies;
  for (const auto& correct : counts) accuracies.push_back(mean_accuracy(correct, shape));
  return accuracies;
}

std::size_t place_of_largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

}  // namespace

EpisodeStream episode_stream(const FeatureStore& store, const std::string& split,
                             const EpisodePlan& plan) {
  const std::string where = fmt::format("{}: split {}", store.folder().string(), split);
  const std::vector<std::size_t> labels = store.labels(split);
  return {SamplePool{labels, store.split(split).classes, where}, plan.shape, plan.protocol,
          plan.count, plan.seed};
}

EpisodeList draw_episodes(const FeatureStore& store, const std::string& split,
                          const EpisodePlan& plan) {
  return episode_stream(store, split, plan).at_least(plan.count);
}

EpisodeList draw_validation_episodes(const FeatureStore& store, const EpisodePlan& plan,
                                     const char* scheme) {
  if (!store.has_split("val"))
    throw data_error(fmt::format(
        "{}: has no split 'val', which `scheme` {} chooses on; add it or use `scheme` full",
        store.folder().string(), scheme));
  return draw_episodes(store, "val", plan);
}

ValidationRanking ValidationRanking::measure(const FeatureStore& store, const Pool& pool,
                                             const EpisodePlan& plan, Influence influence,
                                             unsigned threads, const Progress& progress,
                                             SpaceCache* spaces) {
  const EpisodeList episodes = draw_validation_episodes(store, plan, "guided");
  const EpisodeSetting setting{store, "val", episodes, influence, threads, spaces};

  std::vector<double> accuracy;
  for (const std::uint64_t correct : correct_of_each_member(setting, pool, part_of(progress, 0, 2)))
    accuracy.push_back(percent_of_queries(correct, plan.shape, plan.count));

  std::vector<std::size_t> order(pool.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return accuracy[i]; });
  ValidationRanking ranking;
  ranking.ranked_ = picked(pool, order);
  for (const std::size_t i : order) ranking.member_accuracy_.push_back(accuracy[i]);
  ranking.ensemble_accuracy_ = mean_accuracies(
      counts_of_growing_ensemble(setting, ranking.ranked_, part_of(progress, 1, 2)), plan.shape);
  return ranking;
}

std::size_t ValidationRanking::best_size() const {
  return place_of_largest(ensemble_accuracy_) + 1;
}

Selection Selection::full(Pool pool) {
  return Selection(std::move(pool));
}

Selection Selection::random(const Pool& pool, std::size_t size, std::uint32_t seed) {
  check_size(size, pool.size());
  std::vector<std::size_t> order = LegacyRandom(seed).permutation(pool.size());
  order.resize(size);
  return Selection(picked(pool, order));
}

Selection Selection::guided(const ValidationRanking& ranking, std::optional<std::size_t> size) {
  if (size) check_size(*size, ranking.ranked().size());
  const auto count = static_cast<std::ptrdiff_t>(size.value_or(ranking.best_size()));
  return Selection(Pool(ranking.ranked().begin(), ranking.ranked().begin() + count));
}

Selection Selection::greedy(const GreedyEnsemble& ensemble) {
  return Selection(ensemble.members());
}

Oracle Oracle::peek(const EpisodeSetting& setting, const ValidationRanking& ranking,
                    const Progress& progress) {
  const CorrectCounts counts = counts_of_growing_ensemble(setting, ranking.ranked(), progress);
  const EpisodeShape& shape = setting.episodes.shape();
  std::vector<double> by_size = mean_accuracies(counts, shape);
  const std::size_t best = place_of_largest(by_size);
  std::vector<double> accuracy;
  for (const std::uint32_t correct : counts[best])
    accuracy.push_back(percent_of_queries(correct, shape));
  return {best + 1, estimate(accuracy), std::move(by_size)};
}

}  // namespace deepvoro
