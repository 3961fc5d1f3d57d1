#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/progress.hpp"
#include "deepvoro/episodes/episode.hpp"

namespace deepvoro {

// What is told of one of the paper's studies.
struct StudyDescription {
  std::string_view name;
  std::string_view title;    // a noun phrase
  std::string_view paper;    // the tables and figures of the paper that it makes again
  std::string_view example;  // its arguments
};

[[nodiscard]] DEEPVORO_API std::vector<StudyDescription> paper_studies();

struct StudyRequest {
  std::string study;
  std::vector<std::filesystem::path> stores;
  // None: those of the study, as far as the smallest class has samples for them.
  std::vector<std::size_t> shots = {};
  EpisodePlan plan = {};   // its own number of shots does not count
  bool is_signed = false;  // every transformation becomes a signed one
  unsigned threads = 1;
};

struct StudyResult {
  std::vector<std::filesystem::path> files;  // the JSON file, then a CSV file for each table
  std::size_t steps = 0;
  std::size_t kept_steps = 0;  // found in the folder, from this study or another
};

// Throws a usage error when there is no such study, or parts of the request contradict each other.
DEEPVORO_API void check(const StudyRequest& request);

// Writes STUDY.json and a STUDY-TABLE.csv for each table into the folder `out`, which several
// studies share. Finished steps are kept in `out`/.steps, so that the same call goes on where an
// earlier one was stopped, with the same files in the end, and studies share what they have in
// common; chosen members are in `out`/pools.
DEEPVORO_API StudyResult run_study(const StudyRequest& request, const std::filesystem::path& out,
                                   const Progress& progress = {});

}  // namespace deepvoro
