#include "report/sections/result_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/text.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

bool is_baseline(const ReportedResult& result) {
  constexpr std::array<std::string_view, 4> ensembles{"deepvoro--", "deepvoro", "deepvoro++",
                                                      "plda"};
  return std::ranges::find(ensembles, result.recorded.method) == ensembles.end();
}

bool same_episodes(const RecordedResult& a, const RecordedResult& b) {
  return a.store_sha256 == b.store_sha256 && a.split == b.split && a.shape.ways == b.shape.ways &&
         a.shape.queries == b.shape.queries && a.seed == b.seed && a.protocol == b.protocol &&
         a.episode_accuracy.size() == b.episode_accuracy.size();
}

std::string folder_name(const std::string& path) {
  std::filesystem::path folder(path);
  if (!folder.has_filename()) folder = folder.parent_path();
  const std::string name = as_text_line(folder.filename().string());
  return name.empty() ? path : name;
}

std::string plain_label(const RecordedResult& result) {
  return result.scheme == "full" ? result.method
                                 : fmt::format("{} ({})", result.method, result.scheme);
}

double mean_accuracy(const ReportedResult* result) {
  return estimate(result->recorded.episode_accuracy).mean;
}

}  // namespace

std::set<std::size_t> ResultGroup::shots() const {
  std::set<std::size_t> found;
  for (const ReportedResult* result : results) found.insert(result->recorded.shape.shots);
  return found;
}

std::string ResultGroup::label(const ReportedResult& result) const {
  std::string label = plain_label(result.recorded);
  const auto alike = std::ranges::count_if(results, [&](const ReportedResult* other) {
    return plain_label(other->recorded) == label &&
           other->recorded.shape.shots == result.recorded.shape.shots;
  });
  if (alike == 1) return label;
  const std::string file = std::filesystem::path(result.recorded.file).stem().string();
  return fmt::format("{}, {}", label, as_text_line(file));
}

std::string ResultGroup::title() const {
  const RecordedResult& first = results.front()->recorded;
  return fmt::format("{}, {}: {}-way, {} queries per class, {} episodes, seed {}, protocol {}",
                     store, split, ways, first.shape.queries, first.episode_accuracy.size(),
                     first.seed, first.protocol);
}

const ReportedResult* ResultGroup::best(std::size_t shots) const {
  const ReportedResult* best = nullptr;
  for (const ReportedResult* result : results)
    if (result->recorded.shape.shots == shots &&
        (best == nullptr || mean_accuracy(result) > mean_accuracy(best)))
      best = result;
  return best;
}

const ReportedResult* ResultGroup::best_baseline(std::size_t shots) const {
  const ReportedResult* best = nullptr;
  const ReportedResult* first = nullptr;
  for (const ReportedResult* result : results) {
    if (result->recorded.shape.shots != shots) continue;
    if (first == nullptr) first = result;
    if (is_baseline(*result) && (best == nullptr || mean_accuracy(result) > mean_accuracy(best)))
      best = result;
  }
  return best == nullptr ? first : best;
}

Provenance ResultGroup::made_by() const {
  const ReportedResult& first = *results.front();
  const RecordedResult& recorded = first.recorded;
  std::vector<std::string> methods;
  std::vector<std::string> files;
  for (const ReportedResult* result : results) {
    if (std::ranges::find(methods, result->recorded.method) == methods.end())
      methods.push_back(result->recorded.method);
    const std::string file = as_text_line(result->recorded.file);
    if (std::ranges::find(files, file) == files.end()) files.push_back(file);
  }
  std::vector<std::string> numbers;
  for (const std::size_t n : shots()) numbers.push_back(fmt::to_string(n));
  Provenance made_by{
      .command = fmt::format(
          "deepvoro evaluate {} --method {} --shots {} --episodes {} --seed {} --json ...",
          recorded.store_path, joined(methods, ","), joined(numbers, ","),
          recorded.episode_accuracy.size(), recorded.seed),
      .settings = joined(files),
      .hashes = {fmt::format("{} sha256 {}", store, recorded.store_sha256.substr(0, 12))},
      .program = {}};
  if (!first.version.empty())
    made_by.program = fmt::format("deepvoro {} ({})", first.version, first.commit.substr(0, 12));
  return made_by;
}

std::vector<ResultGroup> group_results(const std::vector<ReportedResult>& results) {
  std::vector<ResultGroup> groups;
  for (const ReportedResult& result : results) {
    auto group = std::ranges::find_if(groups, [&](const ResultGroup& one) {
      return same_episodes(one.results.front()->recorded, result.recorded);
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), {.store = folder_name(result.recorded.store_path),
                                           .split = result.recorded.split,
                                           .ways = result.recorded.shape.ways,
                                           .results = {}});
    group->results.push_back(&result);
  }
  return groups;
}

}  // namespace deepvoro
