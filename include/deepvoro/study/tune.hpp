#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/progress.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/episodes/episode.hpp"

namespace deepvoro {

// The values tuning tries. A lambda of 0, the logarithm, is tried with every bias, other lambdas
// without one. Contains every published transformation and beta.
struct TuningGrid {
  std::vector<double> lambdas{0, 0.25, 0.5, 0.75, 1, 1.5, 2};
  std::vector<double> biases{0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.2, 0.3, 0.4, 0.5, 1, 1.5, 2, 2.5};
  std::vector<std::size_t> neighbours{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<double> betas{0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4,  4.5, 5,  5.5, 6,
                            6.5, 7, 7.5, 8, 8.5, 9, 9.5, 10, 12,  16, 24,  32};
  // Of plda.
  std::vector<double> shrink_within{0.3, 0.45, 0.6, 0.75};
  std::vector<double> shrink_between{0.1, 0.3, 0.5};
  std::vector<double> kappas{1, 2};
};

// What is tried where nothing else is asked for: plda takes all its transformations, so it has few.
[[nodiscard]] DEEPVORO_API TuningGrid default_grid(Method method);

// What is to be tuned. There is no split to choose: tuning knows the validation split alone.
struct Tuning {
  Method method = Method::deepvoro;
  EpisodePlan plan = {};
  TuningGrid grid = {};
  std::optional<std::size_t> top_k = {};  // transformations to take: 8, or 2 for deepvoro++
  // Empty: every view of the store, for vd the first; for plda also the mean of each
  // network.
  std::vector<std::string> views = {};
  bool is_signed = false;
  unsigned threads = 1;
};

// Accuracies are in percent of the validation queries, averaged over single members: over the views
// for a transformation, over views and chosen transformations for a surrogate.
struct TriedTransform {
  Transform transform;
  double val_accuracy = 0;
};
struct TriedSurrogate {
  Surrogate surrogate;
  double val_accuracy = 0;
  bool is_chosen = false;
};

// By the accuracy of the mean view of a network alone, with lambda 0.5.
struct TriedPlda {
  std::string network;  // empty where views name none
  Plda plda;
  double val_accuracy = 0;
  bool is_chosen = false;
};

struct TuningResult {
  std::vector<TriedTransform> transforms;  // best first; the first `top_k` are chosen
  std::vector<TriedSurrogate> surrogates;  // by R, then beta; empty unless the method is deepvoro++
  std::vector<TriedPlda> pldas;            // one of each network is chosen; empty unless it is plda
  std::size_t top_k = 0;
  Pool members;
  std::vector<double> member_val_accuracy;
  std::size_t resumed_steps = 0;  // taken from the checkpoint of an interrupted run
  std::size_t steps = 0;
};

// Throws a usage error when parts of a request contradict each other.
DEEPVORO_API void check(const Tuning& request);

// Chooses a pool by validation and writes it to `out`. Finished steps are kept in `out`.partial, so
// that the same call goes on where an earlier one was stopped, with the same file in the end.
DEEPVORO_API TuningResult tune(const FeatureStore& store, const Tuning& request,
                               const std::filesystem::path& out, const Progress& progress = {});

}  // namespace deepvoro
