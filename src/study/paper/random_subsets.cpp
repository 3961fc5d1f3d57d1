#include "study/paper/random_subsets.hpp"

#include <algorithm>
#include <atomic>

#include "core/random.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ensemble/influence_field.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kMostBytes = std::size_t{512} << 20U;

// For each draw and member, which is the first of the sizes that has it; as many as there are sizes
// where none does.
std::vector<std::vector<std::size_t>> first_sizes(std::size_t members,
                                                  const std::vector<std::size_t>& sizes,
                                                  std::size_t draws, std::uint32_t first_seed) {
  std::vector<std::vector<std::size_t>> first(draws, std::vector<std::size_t>(members));
  for (std::size_t d = 0; d < draws; ++d) {
    const auto order =
        LegacyRandom(first_seed + static_cast<std::uint32_t>(d)).permutation(members);
    for (std::size_t rank = 0; rank < members; ++rank)
      first[d][order[rank]] =
          static_cast<std::size_t>(std::ranges::upper_bound(sizes, rank) - sizes.begin());
  }
  return first;
}

}  // namespace

std::vector<std::vector<std::uint64_t>> correct_of_random_subsets(
    const EpisodeSetting& setting, const Pool& pool, const std::vector<std::size_t>& sizes,
    std::size_t draws, std::uint32_t first_seed, const Progress& progress) {
  const auto first = first_sizes(pool.size(), sizes, draws, first_seed);
  const std::vector<std::size_t> order = streaming_order(pool);
  const Pool streamed = picked(pool, order);
  const EpisodeShape& shape = setting.episodes.shape();
  const std::size_t fields = draws * sizes.size();
  const std::size_t values = InfluenceField::values_per_episode(shape);
  const std::size_t batch = std::clamp<std::size_t>(kMostBytes / (fields * values * sizeof(double)),
                                                    1, setting.episodes.size());
  const std::size_t batches = (setting.episodes.size() + batch - 1) / batch;
  std::vector<std::atomic<std::uint64_t>> correct(fields);

  for (std::size_t i = 0; i < batches; ++i) {
    const EpisodeRange range{i * batch, std::min(setting.episodes.size(), (i + 1) * batch)};
    const std::size_t count = range.end - range.begin;
    // A member is added to the first size of each draw alone; sizes are summed up in the end.
    std::vector<InfluenceField> parts;
    for (std::size_t f = 0; f < fields; ++f) parts.emplace_back(count, shape, setting.influence);
    stream_members(
        setting, streamed, range,
        [&](std::size_t member, std::size_t episode, std::span<const double> terms) {
          for (std::size_t d = 0; d < draws; ++d)
            if (const std::size_t size = first[d][order[member]]; size < sizes.size())
              parts[d * sizes.size() + size].add(episode - range.begin, terms);
        },
        part_of(progress, i, batches));
    parallel_for(setting.threads, count, 1, [&](std::size_t e, std::size_t, unsigned) {
      for (std::size_t f = 0; f < fields; ++f) {
        if (f % sizes.size() > 0) {
          const MatrixView<double> larger = parts[f].sums(e);
          const MatrixView<double> smaller = parts[f - 1].sums(e);
          for (std::size_t k = 0; k < shape.ways; ++k)
            std::ranges::transform(larger[k], smaller[k], larger[k].begin(), std::plus{});
        }
        correct[f].fetch_add(parts[f].correct_queries(e), std::memory_order_relaxed);
      }
    });
  }
  std::vector<std::vector<std::uint64_t>> of_draws(draws);
  for (std::size_t f = 0; f < fields; ++f) of_draws[f / sizes.size()].push_back(correct[f]);
  return of_draws;
}

}  // namespace deepvoro
