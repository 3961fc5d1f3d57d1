// Times of plda members, for bench/plda.py: what their statistics take on one core, and what a
// member costs once they are known, beside a vd member on the same views and episodes.
//
// usage: deepvoro_plda_bench STORE SHOTS MEMBERS

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "deepvoro/core/parallel.hpp"
#include "deepvoro/core/stopwatch.hpp"
#include "deepvoro/ensemble/ensemble.hpp"
#include "deepvoro/ensemble/space_cache.hpp"

namespace {

using namespace deepvoro;

constexpr int kRuns = 7;

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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return EXIT_FAILURE;
  const FeatureStore store(argv[1]);
  const EpisodeShape shape{.ways = 5, .shots = std::stoul(argv[2]), .queries = 15};
  const std::size_t count = std::stoul(argv[3]);
  const EpisodeList episodes = draw_episodes(store, "novel", {.shape = shape});
  const Pool with_plda = members_of(store, count, Plda{});
  const Pool with_vd = members_of(store, count, Voronoi{});

  const int runs = store.dim(store.views().front()) > 1000 ? 1 : kRuns;
  const double statistics = best_seconds(runs, [&] {
    SpaceCache fresh(store);
    (void)fresh.spaces({with_plda.data(), 1}, 1);
  });
  SpaceCache spaces(store);
  (void)spaces.spaces(with_plda, available_threads());
  const Arena arena{store, "novel", episodes, Influence(1), available_threads(), &spaces};
  double plda = std::numeric_limits<double>::infinity();
  double vd = plda;
  for (int run = 0; run < kRuns; ++run) {  // in turn, so that both see the same machine
    vd = std::min(
        vd, best_seconds(1, [&] { (void)evaluate_ensemble(arena, Selection::full(with_vd)); }));
    plda = std::min(
        plda, best_seconds(1, [&] { (void)evaluate_ensemble(arena, Selection::full(with_plda)); }));
  }
  const auto of_member = [&](double seconds) {
    return seconds / static_cast<double>(with_plda.size());
  };
  fmt::print("statistics {}\nvd {}\nplda {}\n", statistics, of_member(vd), of_member(plda));
  return EXIT_SUCCESS;
}
