#include "evaluation_text.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <set>

#include "core/text.hpp"
#include "estimate_text.hpp"
#include "print_line.hpp"

namespace deepvoro {
namespace {

void print_reliability(std::span<const EvaluationResult> results) {
  for (const EvaluationResult& result : results) {
    if (!result.reliability) continue;
    const auto& [calibration, open_set] = *result.reliability;
    const std::string which =
        fmt::format("{}, {}-shot", name(result.request.method), result.request.plan.shape.shots);
    if (calibration)
      fmt::print(
          "{}: expected calibration error {:.2f} %, negative log-likelihood {:.4f} ± {:.4f}\n",
          which, calibration->error_percent, calibration->negative_log_likelihood.mean,
          calibration->negative_log_likelihood.ci95);
    if (open_set)
      fmt::print(
          "{}: AUROC {} % against other classes; at the threshold {:.1f} % of the queries are "
          "kept, "
          "{:.1f} % of the others found\n",
          which, with_interval(open_set->auroc_percent), open_set->kept_percent,
          open_set->found_percent);
  }
}

void print_row(const std::string& method, const std::string& shots, const std::string& members,
               const std::string& accuracy, const std::string& difference) {
  print_line(
      fmt::format("{:<12}{:>5}  {:>7}  {:<13}  {}", method, shots, members, accuracy, difference));
}

// Within each number of shots, the methods are compared with the first.
void print_table(std::span<const EvaluationResult> results) {
  const Method baseline = results.front().request.method;
  const bool compares = results.back().request.method != baseline;
  print_row("method", "shots", "members", "accuracy %",
            compares ? fmt::format("difference to {}", name(baseline)) : "");
  const EvaluationResult* first = nullptr;
  for (const EvaluationResult& result : results) {
    const std::size_t shots = result.request.plan.shape.shots;
    const bool starts = first == nullptr || first->request.plan.shape.shots != shots;
    if (starts) first = &result;
    print_row(name(result.request.method), fmt::to_string(shots),
              fmt::to_string(result.member_count()), with_interval(result.accuracy),
              starts
                  ? ""
                  : with_interval(
                        paired_difference(result.episode_accuracy, first->episode_accuracy), true));
  }
}

void print_guidance(const EvaluationResult& result) {
  const std::string which =
      fmt::format("{}, {}-shot", name(result.request.method), result.request.plan.shape.shots);
  if (result.guidance)
    fmt::print("{}: {} of {} members, chosen on val, where they reach {:.2f}\n", which,
               result.members.size(), result.guidance->pool_size, result.guidance->val_accuracy);
  if (result.oracle)
    fmt::print(
        "{}: oracle {} with {} members: size chosen on {} itself, test leakage, not a result\n",
        which, with_interval(result.oracle->accuracy), result.oracle->size, result.request.split);
}

}  // namespace

void note_other_shots(const std::filesystem::path& pool, std::optional<std::size_t> tuned,
                      std::size_t asked) {
  if (tuned && *tuned != asked)
    fmt::print(stderr, "note: {} was tuned with --shots {}, not {}\n", as_text_line(pool.string()),
               *tuned, asked);
}

void print_evaluations(std::span<const EvaluationResult> results, const std::string& store) {
  const Evaluation& first = results.front().request;
  print_line(fmt::format(
      "{}, split {}: {}-way, {} queries per class, {} episodes, seed {}, protocol {}, scheme {}",
      store, first.split, first.plan.shape.ways, first.plan.shape.queries, first.plan.count,
      first.plan.seed, name(first.plan.protocol), name(first.scheme)));
  print_table(results);
  for (const EvaluationResult& result : results) print_guidance(result);
  print_reliability(results);
  std::set<std::size_t> noted;
  for (const EvaluationResult& result : results) {
    const std::size_t shots = result.request.plan.shape.shots;
    if (result.request.pool && noted.insert(shots).second)
      note_other_shots(*result.request.pool, result.pool_shots, shots);
  }
}

}  // namespace deepvoro
