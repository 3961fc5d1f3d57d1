#include "deepvoro/study/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "deepvoro/features/store.hpp"
#include "ensemble/selection.hpp"
#include "features/json_fields.hpp"
#include "study/recorded_result.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr double kLevel = 0.05;

std::vector<double> episode_accuracies(const JsonFields& fields) {
  const json& list = fields.list("episode_accuracy");
  const std::size_t episodes = fields.whole("episodes", 1);
  if (list.size() != episodes)
    fields.fail("episode_accuracy",
                fmt::format("has {} values for {} episodes", list.size(), episodes));
  std::vector<double> values;
  values.reserve(episodes);
  for (const json& value : list) {
    const double percent = value.is_number() ? value.get<double>() : -1;
    if (!(percent >= 0 && percent <= 100))
      fields.fail("episode_accuracy",
                  fmt::format("is not a number from 0 to 100 at episode {}", values.size()));
    values.push_back(percent);
  }
  return values;
}

// "seed 0 and 1" for everything that decides the episodes and is not the same.
std::vector<std::string> differences(const RecordedResult& a, const RecordedResult& b) {
  std::vector<std::string> found;
  const auto check = [&](const char* what, const auto& of_a, const auto& of_b) {
    if (of_a != of_b) found.push_back(fmt::format("{} {} and {}", what, of_a, of_b));
  };
  check("ways", a.shape.ways, b.shape.ways);
  check("shots", a.shape.shots, b.shape.shots);
  check("queries", a.shape.queries, b.shape.queries);
  check("episodes", a.episode_accuracy.size(), b.episode_accuracy.size());
  check("seed", a.seed, b.seed);
  check("protocol", a.protocol, b.protocol);
  check("split", a.split, b.split);
  check("store sha256", a.store_sha256, b.store_sha256);
  return found;
}

// b - a of each episode.
std::vector<double> paired_values(const RecordedResult& a, const RecordedResult& b) {
  std::vector<double> paired;
  for (std::size_t i = 0; i < a.episode_accuracy.size(); ++i)
    paired.push_back(b.episode_accuracy[i] - a.episode_accuracy[i]);
  return paired;
}

std::vector<const RecordedResult*> with_shots(const std::vector<RecordedResult>& results,
                                              std::size_t shots) {
  std::vector<const RecordedResult*> found;
  for (const RecordedResult& result : results)
    if (result.shape.shots == shots) found.push_back(&result);
  return found;
}

[[noreturn]] void refuse_unmatched(const RecordedResult& result, const std::string& other_file,
                                   const std::string& why) {
  throw data_error(
      fmt::format("{}: {}, {}-shot, cannot be compared with {}: {}; evaluate what is missing",
                  result.file, result.method, result.shape.shots, other_file, why));
}

// What a result is compared with: the one among `others` with the same number of shots; where there
// are several, the one of its method, or all of them if it is `alone` with its number of shots.
std::vector<const RecordedResult*> partners_of(const RecordedResult& result,
                                               const std::vector<RecordedResult>& others,
                                               bool alone) {
  const std::string& file = others.front().file;
  std::vector<const RecordedResult*> partners = with_shots(others, result.shape.shots);
  if (partners.empty())
    refuse_unmatched(result, file,
                     fmt::format("it has no result with {} shots", result.shape.shots));
  if (partners.size() == 1 || alone) return partners;
  std::erase_if(partners,
                [&](const RecordedResult* other) { return other->method != result.method; });
  if (partners.size() != 1)
    refuse_unmatched(result, file,
                     fmt::format("it has several results with {} shots, {} of them of this method",
                                 result.shape.shots, partners.size()));
  return partners;
}

// [episodes x ways], the classes of the episodes of a result.
std::vector<std::size_t> classes_of_episodes(const FeatureStore& store,
                                             const RecordedResult& result) {
  if (result.seed > std::numeric_limits<std::uint32_t>::max())
    throw data_error(fmt::format("{}: seed {} is larger than any", result.file, result.seed));
  const EpisodeList episodes = [&] {
    try {
      return draw_episodes(store, result.split,
                           {.shape = result.shape,
                            .protocol = protocol_named(result.protocol),
                            .count = result.episode_accuracy.size(),
                            .seed = static_cast<std::uint32_t>(result.seed)});
    } catch (const Error& error) {
      // What the file says was not typed by whoever runs this.
      if (error.kind() != ErrorKind::usage) throw;
      throw data_error(fmt::format("{}: {}", result.file, error.what()));
    }
  }();
  const std::vector<std::size_t> labels = store.labels(result.split);
  std::vector<std::size_t> classes;
  for (std::size_t e = 0; e < episodes.size(); ++e)
    for (std::size_t k = 0; k < result.shape.ways; ++k)
      classes.push_back(labels[episodes[e].support[k * result.shape.shots]]);
  return classes;
}

FeatureStore store_of(const RecordedResult& result, unsigned threads) {
  FeatureStore store(result.store_path);
  if (store.sha256(threads) != result.store_sha256)
    throw data_error(
        fmt::format("{}: is no longer the store {} came from, so its episodes cannot be drawn "
                    "again; evaluate once more",
                    result.store_path, result.file));
  return store;
}

ordered_json to_json(const IntervalsByClass& by_class) {
  const auto interval = [](const Interval& one) { return ordered_json{one.low, one.high}; };
  return {{"classes", by_class.classes},
          {"resamples", kClassResamples},
          {"a", interval(by_class.accuracy_a)},
          {"b", interval(by_class.accuracy_b)},
          {"difference", interval(by_class.difference)}};
}

std::string probability(double p) {
  return p < 0.001 ? "p < 0.001" : fmt::format("p = {:.3g}", p);
}

ordered_json side_json(const RecordedResult& result, const Estimate& accuracy) {
  return {{"file", result.file},       {"method", result.method},   {"scheme", result.scheme},
          {"members", result.members}, {"accuracy", accuracy.mean}, {"ci95", accuracy.ci95}};
}

ordered_json to_json(const Comparison& comparison) {
  const RecordedResult& a = comparison.a;
  ordered_json object = {
      {"split", a.split},
      {"ways", a.shape.ways},
      {"shots", a.shape.shots},
      {"queries", a.shape.queries},
      {"episodes", a.episode_accuracy.size()},
      {"seed", a.seed},
      {"protocol", a.protocol},
      {"store", {{"path", a.store_path}, {"sha256", a.store_sha256}}},
      {"a", side_json(a, comparison.accuracy_a)},
      {"b", side_json(comparison.b, comparison.accuracy_b)},
      {"difference", comparison.difference.mean},
      {"ci95", comparison.difference.ci95},
      {"t_test", nullptr},
      {"sign_test",
       {{"won", comparison.sign_test.positive},
        {"lost", comparison.sign_test.negative},
        {"tied", comparison.sign_test.ties},
        {"p", comparison.sign_test.p}}},
      {"verdict", comparison.verdict()},
  };
  if (const auto& test = comparison.t_test)
    object["t_test"] = {
        {"t", test->t}, {"degrees_of_freedom", test->degrees_of_freedom}, {"p", test->p}};
  if (comparison.by_class) object["by_class"] = to_json(*comparison.by_class);
  return object;
}

}  // namespace

RecordedResult recorded_result(const json& object, const std::string& file,
                               const std::string& where) {
  const JsonFields fields(object, where);
  if (fields.text("format") != "deepvoro-result")
    fields.fail("format", "must be \"deepvoro-result\", as 'deepvoro evaluate' writes it");
  if (fields.whole("version", 0) != 1)
    fields.fail("version", "must be 1, the only one this program reads");
  const JsonFields store = fields.object("store");
  return {.file = file,
          .method = fields.text("method"),
          .scheme = fields.text("scheme"),
          .members = fields.whole("members", 1),
          .store_path = store.text("path"),
          .store_sha256 = store.text("sha256"),
          .split = fields.text("split"),
          .shape = {.ways = fields.whole("ways", 1),
                    .shots = fields.whole("shots", 1),
                    .queries = fields.whole("queries", 1)},
          .seed = fields.whole("seed", 0),
          .protocol = fields.text("protocol"),
          .episode_accuracy = episode_accuracies(fields)};
}

std::vector<RecordedResult> read_results(const std::filesystem::path& file) {
  const std::string where = file.string();
  const json document = read_json(file);
  if (!document.is_array()) return {recorded_result(document, where, where)};
  if (document.empty()) throw data_error(where + ": is an empty list, so it holds no result");
  std::vector<RecordedResult> results;
  for (const json& object : document)
    results.push_back(
        recorded_result(object, where, fmt::format("{}: result {}", where, results.size())));
  return results;
}

std::string Comparison::verdict() const {
  if (!t_test) return "no difference can be claimed from a single episode";
  if (!(t_test->p < kLevel))
    return fmt::format("no difference can be claimed, {}", probability(t_test->p));
  return fmt::format("{} is better, {}", difference.mean > 0 ? "B" : "A", probability(t_test->p));
}

Comparison compare(const RecordedResult& a, const RecordedResult& b) {
  const std::vector<std::string> found = differences(a, b);
  if (!found.empty())
    throw data_error(
        fmt::format("{} and {} are results of different episodes: {}; only results on the same "
                    "episodes can be compared",
                    a.file, b.file, fmt::join(found, ", ")));
  const std::vector<double> paired = paired_values(a, b);
  return {.a = a,
          .b = b,
          .accuracy_a = estimate(a.episode_accuracy),
          .accuracy_b = estimate(b.episode_accuracy),
          .difference = estimate(paired),
          .t_test = t_test(paired),
          .sign_test = sign_test(paired),
          .by_class = {}};
}

std::vector<Comparison> compare_within(const std::filesystem::path& file) {
  const std::vector<RecordedResult> results = read_results(file);
  std::vector<Comparison> comparisons;
  for (const RecordedResult& result : results) {
    const RecordedResult& first = *with_shots(results, result.shape.shots).front();
    if (&first != &result) comparisons.push_back(compare(first, result));
  }
  if (comparisons.empty())
    throw data_error(
        fmt::format("{}: holds one result for each number of shots, so there is nothing to compare "
                    "within it; give a second file",
                    file.string()));
  return comparisons;
}

std::vector<Comparison> compare_files(const std::filesystem::path& a,
                                      const std::filesystem::path& b) {
  const std::vector<RecordedResult> of_a = read_results(a);
  const std::vector<RecordedResult> of_b = read_results(b);
  if (of_a.size() == 1 && of_b.size() == 1) return {compare(of_a.front(), of_b.front())};
  std::vector<Comparison> comparisons;
  for (const RecordedResult& result : of_b) {
    const bool alone = with_shots(of_b, result.shape.shots).size() == 1;
    for (const RecordedResult* partner : partners_of(result, of_a, alone))
      comparisons.push_back(compare(*partner, result));
  }
  return comparisons;
}

void add_intervals_by_class(std::span<Comparison> comparisons, unsigned threads) {
  std::map<std::pair<std::string, std::string>, FeatureStore> stores;  // path and hash
  for (Comparison& comparison : comparisons) {
    const RecordedResult& a = comparison.a;
    const std::pair key(a.store_path, a.store_sha256);
    if (!stores.contains(key)) stores.emplace(key, store_of(a, threads));
    const FeatureStore& store = stores.at(key);
    const std::size_t classes = store.split(a.split).classes.size();
    const std::vector<std::size_t> classes_of = classes_of_episodes(store, a);
    const auto interval = [&](std::span<const double> values) {
      return class_bootstrap(values, classes_of, classes);
    };
    comparison.by_class = {classes, interval(a.episode_accuracy),
                           interval(comparison.b.episode_accuracy),
                           interval(paired_values(a, comparison.b))};
  }
}

void write_comparisons(std::span<const Comparison> comparisons, const std::filesystem::path& file) {
  ordered_json list = ordered_json::array();
  for (const Comparison& comparison : comparisons) list.push_back(to_json(comparison));
  const ordered_json document = {{"format", "deepvoro-comparison"},
                                 {"version", 1},
                                 {"comparisons", list},
                                 {"program", {{"version", version()}, {"commit", commit()}}}};
  AtomicFile out(file);
  out.write(json_text(document));
  out.commit();
}

}  // namespace deepvoro
