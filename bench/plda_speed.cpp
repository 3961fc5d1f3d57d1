// Times of plda members, for bench/plda.py: what their statistics take on one core, and what a
// member costs once they are known, beside a vd member on the same views and episodes. All rows of
// a split are mapped once, whatever the number of episodes, so there are two of these.
//
// usage: deepvoro_plda_bench STORE SHOTS MEMBERS

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "core/stopwatch.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ensemble/ensemble.hpp"
#include "ensemble/space_cache.hpp"

namespace {

using namespace deepvoro;

constexpr int kRuns = 5;
constexpr std::size_t kEpisodes = 2000;
constexpr std::size_t kMoreEpisodes = 3 * kEpisodes;

template <class Work>
double best_seconds(int runs, const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const Stopwatch watch;
    work();
    best = std::min(best, watch.seconds());
  }
  return best;
}

Pool members_of(const FeatureStore& store, std::size_t count, const Geometry& geometry) {
  Pool pool;
  for (std::size_t i = 0; i < std::min(count, store.views().size()); ++i)
    pool.push_back({store.views()[i], {.lambda = 0.5}, geometry});
  return pool;
}

// Seconds of a member of each pool, in turn, so that both see the same machine.
struct Times {
  double vd = std::numeric_limits<double>::infinity();
  double plda = vd;
};

Times times_of(const FeatureStore& store, const EpisodeShape& shape, std::size_t episode_count,
               SpaceCache& spaces, const Pool& with_vd, const Pool& with_plda) {
  const EpisodeList episodes =
      draw_episodes(store, "novel", {.shape = shape, .count = episode_count});
  const EpisodeSetting setting{store,  "novel", episodes, Influence(1), available_threads(),
                               &spaces};
  const auto seconds = [&](const Pool& pool) {
    return best_seconds(1, [&] { (void)evaluate_ensemble(setting, Selection::full(pool)); }) /
           static_cast<double>(pool.size());
  };
  Times best;
  for (int run = 0; run < kRuns; ++run) {
    best.vd = std::min(best.vd, seconds(with_vd));
    best.plda = std::min(best.plda, seconds(with_plda));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return EXIT_FAILURE;
  const FeatureStore store(argv[1]);
  const EpisodeShape shape{.ways = 5, .shots = std::stoul(argv[2]), .queries = 15};
  const std::size_t count = std::stoul(argv[3]);
  const Pool with_plda = members_of(store, count, Plda{});
  const Pool with_vd = members_of(store, count, Voronoi{});

  const int runs = store.dim(store.views().front()) > 1000 ? 1 : kRuns;
  const double statistics = best_seconds(runs, [&] {
    SpaceCache fresh(store);
    (void)fresh.spaces({with_plda.data(), 1}, 1);
  });
  SpaceCache spaces(store);
  (void)spaces.spaces(with_plda, available_threads());
  const Times few = times_of(store, shape, kEpisodes, spaces, with_vd, with_plda);
  const Times many = times_of(store, shape, kMoreEpisodes, spaces, with_vd, with_plda);
  const auto thousand_more = [](double of_few, double of_many) {
    return (of_many - of_few) * 1000 / static_cast<double>(kMoreEpisodes - kEpisodes);
  };
  fmt::print("statistics {}\nvd {}\nplda {}\nvd_more {}\nplda_more {}\n", statistics, few.vd,
             few.plda, thousand_more(few.vd, many.vd), thousand_more(few.plda, many.plda));
  return EXIT_SUCCESS;
}
