// An ensemble over 2000 episodes on a device, beside the CPU: scores are compared, then both are
// timed, and what it takes to read the views alone.
//
// usage: deepvoro_device_bench STORE METHOD SHOTS DEVICE

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "core/stopwatch.hpp"
#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ensemble/ensemble.hpp"
#include "ensemble/ensemble_device.hpp"
#include "ensemble/space_cache.hpp"

namespace {

using namespace deepvoro;

constexpr int kRuns = 5;

template <class Work>
double best_seconds(const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const Stopwatch watch;
    work();
    best = std::min(best, watch.seconds());
  }
  return best;
}

struct Answers {
  std::vector<double> scores;
  std::size_t ways;
};

Answers answers_of(const EpisodeSetting& setting, const Selection& selection) {
  Answers answers{{}, setting.episodes.shape().ways};
  (void)evaluate_ensemble(setting, selection, [&](std::span<const double> values) {
    answers.scores.insert(answers.scores.end(), values.begin(), values.end());
  });
  return answers;
}

void compare(const Answers& actual, const Answers& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.scores.size(); ++i)
    largest = std::max(largest, std::abs(actual.scores[i] / expected.scores[i] - 1));
  std::size_t others = 0;
  for (std::size_t i = 0; i < expected.scores.size(); i += expected.ways)
    if (cell_of({actual.scores.data() + i, expected.ways}) !=
        cell_of({expected.scores.data() + i, expected.ways}))
      ++others;
  fmt::print("largest_difference {:.2g}\nother_answers {} of {}\n", largest, others,
             expected.scores.size() / expected.ways);
}

void read_all(const FeatureStore& store, const std::string& split, const Pool& pool) {
  std::vector<std::byte> rows;
  std::string last;
  for (const Member& member : pool) {
    if (member.view == last) continue;
    last = member.view;
    const FeatureRows source = store.features(split, member.view);
    const std::size_t bytes = source.dim() * element_size(source.element());
    rows.resize(source.rows() * bytes);
    constexpr std::size_t grain = 256;
    parallel_for(available_threads(), source.rows(), grain,
                 [&](std::size_t begin, std::size_t end, unsigned) {
                   std::memcpy(rows.data() + begin * bytes, source.row(begin),
                               (end - begin) * bytes);
                 });
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return EXIT_FAILURE;
  const FeatureStore store(argv[1]);
  const Pool pool = default_pool(method_named(argv[2]), store);
  const EpisodeList episodes = draw_episodes(
      store, "novel",
      {.shape = {.ways = 5, .shots = std::stoul(argv[3]), .queries = 15}, .count = 2000});
  const std::unique_ptr<EnsembleDevice> device = backbone_library().ensemble_device(argv[4]);
  SpaceCache spaces(store);
  const EpisodeSetting on_cpu{store, "novel", episodes, Influence(1), available_threads(), &spaces};
  EpisodeSetting on_device = on_cpu;
  on_device.device = device.get();
  const Selection selection = Selection::full(pool);

  const Stopwatch first;
  const Answers actual = answers_of(on_device, selection);
  fmt::print("members {}\nfirst {:.3f}\n", pool.size(), first.seconds());
  compare(actual, answers_of(on_cpu, selection));
  fmt::print("device {:.3f}\n",
             best_seconds([&] { (void)evaluate_ensemble(on_device, selection); }));
  fmt::print("cpu {:.3f}\n", best_seconds([&] { (void)evaluate_ensemble(on_cpu, selection); }));
  fmt::print("reading {:.3f}\n", best_seconds([&] { read_all(store, "novel", pool); }));
  return EXIT_SUCCESS;
}
