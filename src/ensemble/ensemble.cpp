#include "ensemble/ensemble.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "deepvoro/core/parallel.hpp"
#include "ensemble/influence_field.hpp"

namespace deepvoro {

std::vector<EpisodeRange> field_batches(const EpisodeList& episodes,
                                        std::size_t largest_field_bytes) {
  const std::size_t per_episode =
      InfluenceField::values_per_episode(episodes.shape()) * sizeof(double);
  const std::size_t batch = std::max<std::size_t>(1, largest_field_bytes / per_episode);
  std::vector<EpisodeRange> batches;
  for (std::size_t begin = 0; begin < episodes.size(); begin += batch)
    batches.push_back({begin, std::min(episodes.size(), begin + batch)});
  return batches;
}

void assign_queries(const InfluenceField& field, EpisodeRange batch, std::span<double> accuracy,
                    const ScoreSink& scores, unsigned threads) {
  constexpr std::size_t grain = 4;
  constexpr std::size_t values_at_a_time = std::size_t{1} << 20U;
  const std::size_t values = InfluenceField::values_per_episode(field.shape());
  const std::size_t at_a_time = std::max<std::size_t>(1, values_at_a_time / values);
  std::vector<double> kept(scores ? std::min(at_a_time, batch.end - batch.begin) * values : 0);
  for (std::size_t first = batch.begin; first < batch.end; first += at_a_time) {
    const std::size_t count = std::min(at_a_time, batch.end - first);
    const auto of_episode = [&](std::size_t i) {
      return std::span(kept).subspan(i * values, values);
    };
    parallel_for(threads, count, grain, [&](std::size_t begin, std::size_t end, unsigned) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t in_batch = first + i - batch.begin;
        accuracy[first + i] = percent_of_queries(field.correct_queries(in_batch), field.shape());
        if (scores) field.scores(in_batch, of_episode(i));
      }
    });
    for (std::size_t i = 0; scores && i < count; ++i) scores(of_episode(i));
  }
}

std::vector<std::uint64_t> correct_of_each_member(const EpisodeSetting& setting,
                                                  const Pool& members, const Progress& progress) {
  const std::array<EpisodeRange, 1> all{{{0, setting.episodes.size()}}};
  return correct_in_blocks(setting, members, all, progress).front();
}

std::vector<std::vector<std::uint64_t>> correct_in_blocks(const EpisodeSetting& setting,
                                                          const Pool& members,
                                                          std::span<const EpisodeRange> blocks,
                                                          const Progress& progress) {
  const EpisodeRange all{blocks.front().begin, blocks.back().end};
  std::vector<std::size_t> block_of;  // by episode, from the first on
  for (std::size_t b = 0; b < blocks.size(); ++b) block_of.resize(blocks[b].end - all.begin, b);
  const std::vector<std::size_t> order = streaming_order(members);
  // Sums of whole numbers do not depend on the order in which threads add to them.
  std::vector<std::atomic<std::uint64_t>> correct(blocks.size() * members.size());
  count_members(
      setting, picked(members, order), all,
      [&](std::size_t streamed, std::size_t episode, std::uint32_t of_episode) {
        const std::size_t first = block_of[episode - all.begin] * members.size();
        correct[first + order[streamed]].fetch_add(of_episode, std::memory_order_relaxed);
      },
      progress);
  std::vector<std::vector<std::uint64_t>> of_blocks(blocks.size());
  for (std::size_t i = 0; i < correct.size(); ++i)
    of_blocks[i / members.size()].push_back(correct[i]);
  return of_blocks;
}

std::vector<double> evaluate_ensemble(const EpisodeSetting& setting, const Selection& selection,
                                      const ScoreSink& scores, const Progress& progress) {
  const Pool members = picked(selection.members(), streaming_order(selection.members()));
  std::vector<double> accuracy(setting.episodes.size());
  // To clear more memory takes longer than to transform the rows of a batch.
  constexpr std::size_t quick_field_bytes = std::size_t{256} << 20U;
  const auto batches =
      field_batches(setting.episodes, std::min(setting.largest_field_bytes, quick_field_bytes));
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const EpisodeRange batch = batches[i];
    InfluenceField field(batch.end - batch.begin, setting.episodes.shape(), setting.influence);
    add_members(setting, members, batch, field, {}, part_of(progress, i, batches.size()));
    assign_queries(field, batch, accuracy, scores, setting.threads);
  }
  return accuracy;
}

}  // namespace deepvoro
