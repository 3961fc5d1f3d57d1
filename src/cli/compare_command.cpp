#include "compare_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "deepvoro/core/parallel.hpp"
#include "deepvoro/study/compare.hpp"
#include "estimate_text.hpp"
#include "print_line.hpp"

namespace deepvoro {
namespace {

constexpr const char* kCompareFooter = R"(
With one file, its methods are compared with its first one, within each number of shots. With two,
B is compared with A, within each number of shots: a single result of B with every one of A, several
with those of the same method.

± is the spread over episodes of these classes: it shrinks with every episode more, though they show
the same few classes again. --by-class adds 95% intervals that say what other classes would have
given: a bootstrap over the classes of the split. It needs the store the results came from.

Examples:
  deepvoro compare vd.json deepvoro.json
  deepvoro compare vd.json deepvoro.json --by-class
  deepvoro compare ten_methods.json my_pool.json
  deepvoro compare results.json --json comparison.json)";

struct CompareCommand {
  std::string a;
  std::string b;
  std::string json;
  bool by_class = false;

  void run() const;
};

// A p-value that a double cannot tell from 0 is no 0.
std::string chance(double p, const char* equals = "") {
  return p < 1e-300 ? "< 1e-300" : fmt::format("{}{:.2g}", equals, p);
}

std::string side(const RecordedResult& result) {
  return fmt::format("{}, {}, {} {}, {}", result.method, result.scheme, result.members,
                     result.members == 1 ? "member" : "members", result.file);
}

std::string interval_text(const Interval& interval, bool show_sign = false) {
  return show_sign ? fmt::format("{:+.2f} to {:+.2f}", interval.low, interval.high)
                   : fmt::format("{:.2f} to {:.2f}", interval.low, interval.high);
}

void print(const Comparison& comparison) {
  const RecordedResult& a = comparison.a;
  print_line(fmt::format(
      "{}, split {}: {}-way {}-shot, {} queries per class, {} episodes, seed {}, protocol {}",
      a.store_path, a.split, a.shape.ways, a.shape.shots, a.shape.queries,
      a.episode_accuracy.size(), a.seed, a.protocol));
  print_line(fmt::format("A      {:<14} {}", with_interval(comparison.accuracy_a), side(a)));
  print_line(
      fmt::format("B      {:<14} {}", with_interval(comparison.accuracy_b), side(comparison.b)));
  fmt::print("B - A  {:<14} {}\n", with_interval(comparison.difference, true),
             comparison.t_test ? "paired t-test p " + chance(comparison.t_test->p, "= ")
                               : "one episode, no t-test");
  const SignTest& sign = comparison.sign_test;
  fmt::print("B wins {} episodes, loses {}, ties {}; sign test p {}\n", sign.positive,
             sign.negative, sign.ties, chance(sign.p, "= "));
  if (const auto& by_class = comparison.by_class)
    fmt::print("by bootstrap over {} classes: A {}, B {}, B - A {}\n", by_class->classes,
               interval_text(by_class->accuracy_a), interval_text(by_class->accuracy_b),
               interval_text(by_class->difference, true));
  fmt::print("{}\n", comparison.verdict());
}

void print_comparison_row(const std::string& method, const std::string& shots,
                          const std::string& accuracy, const std::string& difference,
                          const std::string& p, const std::string& by_class) {
  print_line(fmt::format("{:<12}{:>5}  {:<13}  {:<23}  {:<8}  {}", method, shots, accuracy,
                         difference, p, by_class));
}

// One line for each result of a file, those of the same number of shots after the first of them.
void print_table(const std::vector<Comparison>& comparisons) {
  const auto episodes = [](const RecordedResult& a) {
    return fmt::format(
        "{}, split {}: {}-way, {} queries per class, {} episodes, seed {}, protocol {}",
        a.store_path, a.split, a.shape.ways, a.shape.queries, a.episode_accuracy.size(), a.seed,
        a.protocol);
  };
  std::string shown;
  std::set<std::size_t> begun;  // numbers of shots
  for (const Comparison& comparison : comparisons) {
    const RecordedResult& a = comparison.a;
    const std::string shots = fmt::to_string(a.shape.shots);
    if (begun.insert(a.shape.shots).second) {
      if (shown != episodes(a)) {
        shown = episodes(a);
        print_line(shown);
        print_comparison_row("method", "shots", "accuracy %", "difference to the first", "t-test p",
                             comparison.by_class ? "by class" : "");
      }
      print_comparison_row(a.method, shots, with_interval(comparison.accuracy_a), "", "", "");
    }
    print_comparison_row(
        comparison.b.method, shots, with_interval(comparison.accuracy_b),
        with_interval(comparison.difference, true),
        comparison.t_test ? chance(comparison.t_test->p) : "one episode",
        comparison.by_class ? interval_text(comparison.by_class->difference, true) : "");
  }
}

void CompareCommand::run() const {
  std::vector<Comparison> comparisons = b.empty() ? compare_within(a) : compare_files(a, b);
  if (by_class) add_intervals_by_class(comparisons, available_threads());
  if (!json.empty()) write_comparisons(comparisons, json);
  if (b.empty() && comparisons.size() > 1) {
    print_table(comparisons);
    return;
  }
  for (const Comparison& comparison : comparisons) {
    if (&comparison != &comparisons.front()) fmt::print("\n");
    print(comparison);
  }
}

}  // namespace

void add_compare_command(CLI::App& program) {
  auto command = std::make_shared<CompareCommand>();
  CLI::App* app = program.add_subcommand(
      "compare",
      "paired difference of results on the same episodes, and whether it is significant");
  app->footer(kCompareFooter);
  app->add_option("A", command->a, "result file written by deepvoro evaluate --json")->required();
  app->add_option("B", command->b, "another one, compared with A");
  app->add_flag("--by-class", command->by_class,
                "also intervals by bootstrap over the classes, which episodes share");
  app->add_option("--json", command->json, "write the comparison to this file");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
