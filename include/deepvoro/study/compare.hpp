#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/episodes/class_bootstrap.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "deepvoro/episodes/significance.hpp"
#include "deepvoro/episodes/statistics.hpp"

namespace deepvoro {

// What a result file says about one evaluation, as far as comparing needs it.
struct RecordedResult {
  std::string file;
  std::string method;
  std::string scheme;
  std::size_t members = 0;
  std::string store_path;
  std::string store_sha256;
  std::string split;
  EpisodeShape shape;
  std::uint64_t seed = 0;
  std::string protocol;
  std::vector<double> episode_accuracy;  // percent
};

// The results in a file that `evaluate --json` wrote: one, or a list of them.
[[nodiscard]] DEEPVORO_API std::vector<RecordedResult> read_results(
    const std::filesystem::path& file);

// 95% intervals that say what other classes would have given, see class_bootstrap().
struct IntervalsByClass {
  std::size_t classes = 0;
  Interval accuracy_a;
  Interval accuracy_b;
  Interval difference;
};

// Two results on the very same episodes.
struct DEEPVORO_API Comparison {
  RecordedResult a;
  RecordedResult b;
  Estimate accuracy_a;
  Estimate accuracy_b;
  Estimate difference;                       // b - a, paired
  std::optional<TTest> t_test;               // none for a single episode
  SignTest sign_test;                        // positive: episodes that b won
  std::optional<IntervalsByClass> by_class;  // where it was asked for

  // One line of plain words, by the t-test at 5%.
  [[nodiscard]] std::string verdict() const;
};

// Throws a data error that names what differs when the episodes are not the same.
[[nodiscard]] DEEPVORO_API Comparison compare(const RecordedResult& a, const RecordedResult& b);

// Every result of a file with the first one of the same number of shots.
[[nodiscard]] DEEPVORO_API std::vector<Comparison> compare_within(
    const std::filesystem::path& file);

// Every result of file b with the one of file a that has the same number of shots. Where a has
// several of them: with all, if b has one, or else with the one of the same method. Throws a data
// error when a result of b has no partner.
[[nodiscard]] DEEPVORO_API std::vector<Comparison> compare_files(const std::filesystem::path& a,
                                                                 const std::filesystem::path& b);

// Adds the intervals by class. Which classes an episode has is not in a result, so episodes are
// drawn again from the store, which must be where it was and what it was.
DEEPVORO_API void add_intervals_by_class(std::span<Comparison> comparisons, unsigned threads = 1);

DEEPVORO_API void write_comparisons(std::span<const Comparison> comparisons,
                                    const std::filesystem::path& file);

}  // namespace deepvoro
