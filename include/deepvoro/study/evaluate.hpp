#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/progress.hpp"
#include "deepvoro/ensemble/head_configuration.hpp"
#include "deepvoro/ensemble/oracle.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/ensemble/published.hpp"
#include "deepvoro/ensemble/scores.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "deepvoro/episodes/reliability.hpp"
#include "deepvoro/study/answers.hpp"

namespace deepvoro {

enum class Scheme {
  full,    // all members of the pool
  random,  // a given number of them, by seed
  guided,  // the best by validation, as many as did best together there
  greedy,  // one after the other by validation, some of them several times
};

[[nodiscard]] DEEPVORO_API Scheme scheme_named(const std::string& name);
[[nodiscard]] DEEPVORO_API const char* name(Scheme scheme);

// What one evaluation computes: a method's ensemble on episodes of a split.
struct Evaluation {
  Method method = Method::vd;
  std::string split = "novel";
  EpisodePlan plan = {};
  Scheme scheme = Scheme::full;
  std::optional<std::size_t> size = {};            // for random, and to fix that of guided
  std::optional<std::filesystem::path> pool = {};  // instead of the method's own members
  std::optional<Preset> preset = {};               // published members of deepvoro and deepvoro++
  bool release_views = false;            // of ensembles: the multiset of the authors' release
  std::optional<std::string> view = {};  // of vd and of heads, instead of the first
  // Of power-lr, voronoi-lr and deepvoro--; its kind is that of deepvoro-- alone.
  LogisticOptions logistic = {};
  Normalisation normalisation = Normalisation::cl2n;  // of simpleshot
  bool is_signed = false;                             // every transformation becomes a signed one
  double alpha = 1;
  bool oracle = false;  // also peek at the size that would have been best on the split itself
  ReliabilityRequest reliability = {};  // what else to measure; its seed is that of the plan
  unsigned threads = 1;
  // Where the ensemble is added up: cpu, or cuda, which needs LibTorch. Members are always chosen
  // on the CPU, so that they are the same.
  std::string device = "cpu";
};

struct Guidance {
  std::size_t pool_size = 0;
  double val_accuracy = 0;          // of the members chosen, on the validation episodes
  std::vector<std::size_t> counts;  // of greedy: how often each was chosen
};

struct EvaluationResult {
  Evaluation request;
  std::vector<double> episode_accuracy;  // percent
  Estimate accuracy;
  Pool members;                           // none for a head
  std::optional<HeadConfiguration> head;  // none for an ensemble
  std::optional<Guidance> guidance;
  std::optional<Oracle> oracle;
  std::optional<Reliability> reliability;  // where it was asked for
  std::optional<std::size_t> pool_shots;   // what its pool was tuned for, where a file says so
  Answers answers;
  double selection_seconds = 0;
  double evaluation_seconds = 0;

  [[nodiscard]] std::size_t member_count() const { return head ? 1 : members.size(); }
};

// Throws a usage error when parts of a request contradict each other.
DEEPVORO_API void check(const Evaluation& request);

[[nodiscard]] DEEPVORO_API EvaluationResult evaluate(const FeatureStore& store,
                                                     const Evaluation& request,
                                                     const ScoreSink& scores = {},
                                                     const Progress& progress = {});

class AtomicFile;

// The influence F of all episodes as .npy, [episodes, ways*queries, ways] float64, filled episode
// by episode.
class DEEPVORO_API ScoresFile {
 public:
  ScoresFile(const std::filesystem::path& file, const EpisodePlan& plan);
  void append(std::span<const double> scores);
  void commit();

 private:
  std::shared_ptr<AtomicFile> file_;
};

// Results as JSON text: one object, or a list of them when there are several.
[[nodiscard]] DEEPVORO_API std::string results_json(std::span<const EvaluationResult> results,
                                                    const std::string& store_path,
                                                    const std::string& store_sha256);

// A file of results_json(). Made before an evaluation, so that a folder that cannot be written or a
// store that cannot be read shows early.
class DEEPVORO_API ResultFile {
 public:
  ResultFile(const std::filesystem::path& file, const FeatureStore& store, unsigned threads = 1);
  void write(std::span<const EvaluationResult> results);

 private:
  std::shared_ptr<AtomicFile> file_;
  std::string store_path_;
  std::string store_sha256_;
};

}  // namespace deepvoro
