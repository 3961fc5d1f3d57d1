// Facts the benchmark table needs and the program does not print, as lines "name value":
//   deepvoro_bench machine          peak of fused multiply-add and memory bandwidth, all cores
//   deepvoro_bench latency STORE    time of one query against fitted ensembles of that store
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "deepvoro/core/parallel.hpp"
#include "deepvoro/ensemble/fitted.hpp"
#include "ensemble/selection.hpp"
#include "features/transformed_rows.hpp"
#include "kernels/kernels.hpp"

namespace {

using namespace deepvoro;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The best of some runs, because the machine has other things to do.
template <class Work>
double best_seconds(int runs, Work work) {
  double best = 1e300;
  for (int i = 0; i < runs; ++i) {
    const auto start = Clock::now();
    work();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

double peak_gflops(unsigned threads) {
  constexpr std::size_t rounds = 5'000'000;
  std::vector<double> sink(threads);
  const double seconds = best_seconds(5, [&] {
    parallel_for(threads, threads, 1, [&](std::size_t begin, std::size_t, unsigned) {
      sink[begin] = kernels::active().multiply_add_rounds(rounds);
    });
  });
  return static_cast<double>(threads * rounds * kernels::kFlopsPerRound) / seconds / 1e9;
}

double bandwidth_gbytes(unsigned threads) {
  constexpr std::size_t count = std::size_t{1} << 26U;  // 256 MiB a thread: beyond any cache
  std::vector<Matrix<float>> memory;
  for (unsigned t = 0; t < threads; ++t) memory.emplace_back(count / 4096, 4096);
  std::vector<float> sink(threads);
  const double seconds = best_seconds(5, [&] {
    parallel_for(threads, threads, 1, [&](std::size_t t, std::size_t, unsigned) {
      for (std::size_t r = 0; r < memory[t].rows(); ++r) {
        const float* row = memory[t].row(r);
        kernels::add_squared_norm(kernels::active(), row, 4096, &sink[t]);
      }
    });
  });
  return static_cast<double>(threads * count * sizeof(float)) / seconds / 1e9;
}

// Samples of a split in every view, as float32 in memory.
struct Samples {
  std::vector<Matrix<float>> rows;
  std::vector<std::size_t> labels;
  ViewedSamples viewed;
};

Samples load(const FeatureStore& store, const std::string& split,
             const std::vector<SampleIndex>& which, std::vector<std::size_t> labels,
             std::size_t classes) {
  Samples samples;
  samples.labels = std::move(labels);
  for (const std::string& view : store.views()) {
    const FeatureRows source = store.features(split, view);
    std::vector<double> wide(padded(source.dim()));
    Matrix<float> rows(which.size(), source.dim());
    for (std::size_t i = 0; i < which.size(); ++i) {
      widen(source.element(), source.row(which[i]), source.dim(), wide.data());
      std::transform(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(source.dim()),
                     rows.row(i), [](double x) { return static_cast<float>(x); });
    }
    samples.rows.push_back(std::move(rows));
  }
  for (const auto& rows : samples.rows) samples.viewed.rows.push_back(rows.view());
  samples.viewed.views = store.views();
  samples.viewed.labels = samples.labels;
  samples.viewed.classes = classes;
  return samples;
}

void print_latency(const FeatureStore& store, Method method, const Samples& base) {
  const EpisodePlan plan{.count = 1};
  const EpisodeList episodes = draw_episodes(store, "novel", plan);
  std::vector<std::size_t> ways(plan.shape.ways);
  std::iota(ways.begin(), ways.end(), std::size_t{0});
  const auto index_of = [](std::span<const SampleIndex> rows) {
    return std::vector<SampleIndex>(rows.begin(), rows.end());
  };
  const Samples support = load(store, "novel", index_of(episodes[0].support), ways, ways.size());
  const std::vector<std::size_t> unknown(episodes[0].query.size());
  const Samples queries = load(store, "novel", index_of(episodes[0].query), unknown, 1);
  const FittedEnsemble fitted(default_pool(method, store), support.viewed, &base.viewed,
                              Influence(1));

  std::vector<double> seconds;
  std::vector<double> influence(ways.size());
  std::vector<std::span<const float>> query(store.views().size());
  std::size_t correct = 0;
  for (int round = 0; round < 4; ++round)
    for (std::size_t q = 0; q < episodes[0].query.size(); ++q) {
      for (std::size_t v = 0; v < query.size(); ++v) query[v] = queries.rows[v].view()[q];
      const auto start = Clock::now();
      fitted.influence(query, influence);
      seconds.push_back(seconds_since(start));
      correct += cell_of(influence) == q / plan.shape.queries ? 1U : 0U;
    }
  std::ranges::sort(seconds);
  fmt::print("{}_median_ms {}\n{}_p99_ms {}\n{}_correct_percent {}\n", name(method),
             seconds[seconds.size() / 2] * 1e3, name(method),
             seconds[seconds.size() * 99 / 100] * 1e3, name(method),
             100.0 * static_cast<double>(correct) / static_cast<double>(seconds.size()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "machine") {
    const unsigned threads = available_threads();
    fmt::print("threads {}\nisa {}\npeak_gflops {}\nbandwidth_gbytes {}\n", threads,
               kernels::name(kernels::active().level), peak_gflops(threads),
               bandwidth_gbytes(threads));
    return 0;
  }
  if (what == "latency" && argc > 2) {
    const FeatureStore store(argv[2]);
    const std::vector<std::size_t> labels = store.labels("base");
    std::vector<SampleIndex> rows(labels.size());
    std::iota(rows.begin(), rows.end(), SampleIndex{0});
    const Samples base = load(store, "base", rows, labels, store.split("base").classes.size());
    print_latency(store, Method::deepvoro, base);
    print_latency(store, Method::deepvoro_plus_plus, base);
    return 0;
  }
  fmt::print(stderr, "usage: deepvoro_bench machine | deepvoro_bench latency STORE\n");
  return 2;
}
