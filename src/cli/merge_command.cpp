#include "merge_command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "deepvoro/study/evaluation_shards.hpp"
#include "episode_options.hpp"
#include "estimate_text.hpp"
#include "print_line.hpp"

namespace deepvoro {
namespace {

constexpr const char* kMergeFooter = R"(
Puts together what 'deepvoro evaluate --shard' left in a folder, or in several from machines that
share none. The result is that of one process, byte for byte, but for the times, which are added up.
What is missing, there twice or made with other settings is refused. Run it where the shards ran: it
looks into the feature store.

Examples:
  for i in 0 1 2 3; do
    deepvoro evaluate data/quickdraw --method vd,deepvoro --shard $i/4 --out pieces &
  done; wait
  deepvoro merge pieces --json result.json
  deepvoro merge from_node1 from_node2 --json result.json)";

struct MergeCommand {
  std::vector<std::filesystem::path> folders;
  std::string json;
  unsigned threads = 1;

  void run() const;
};

void MergeCommand::run() const {
  AtomicFile file(json);  // shows early whether it can be written
  const MergedEvaluations merged = merge_evaluations(folders, threads);
  file.write(results_json(merged.results, merged.store_path, merged.store_sha256));
  file.commit();
  for (const EvaluationResult& result : merged.results)
    print_line(fmt::format("{:<12}{:>5}  {}", name(result.request.method),
                           result.request.plan.shape.shots, with_interval(result.accuracy)));
}

}  // namespace

void add_merge_command(CLI::App& program) {
  auto command = std::make_shared<MergeCommand>();
  CLI::App* app = program.add_subcommand("merge", "put together what shards of a command made");
  app->footer(kMergeFooter);
  app->add_option("DIR", command->folders, "folders of pieces, as given to --out")->required();
  app->add_option("--json", command->json, "write the result to this file")->required();
  add_threads_option(*app, command->threads);
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
