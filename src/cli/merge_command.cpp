#include "merge_command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"
#include "deepvoro/backbone/extraction_shards.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/shard/share.hpp"
#include "deepvoro/study/evaluation_shards.hpp"
#include "deepvoro/study/study_shards.hpp"
#include "deepvoro/study/tuning_shards.hpp"
#include "episode_options.hpp"
#include "evaluation_text.hpp"
#include "print_line.hpp"
#include "tuning_text.hpp"

namespace deepvoro {
namespace {

constexpr const char* kMergeFooter = R"(
Puts together what evaluate, tune, extract or study with --shard left in a folder, or in several from
machines that share none. The result is that of one process, byte for byte, except for the times,
threads and processor recorded in results of evaluate, and the command recorded in a study. Pieces that
are missing, made twice or made with other settings are refused. Results of evaluate go to --json; the
pool of tune, the store of extract and the folder of study to --out. Feature stores are looked for
under the paths that the shards were given, and relative paths are taken from where merge runs; pieces
of extract need no store.

Examples:
  for i in 0 1 2 3; do
    deepvoro evaluate data/quickdraw --method vd,deepvoro --shard $i/4 --out pieces &
  done; wait
  deepvoro merge pieces --json result.json
  deepvoro merge from_node1 from_node2 --json result.json
  deepvoro merge extracted --out features)";

struct MergeCommand {
  std::vector<std::filesystem::path> folders;
  std::string json;
  std::string out;
  unsigned threads = 1;

  void run() const;

 private:
  void merge_results() const;
  void merge_pool() const;
  void merge_tables() const;
  void merge_store() const;
};

void MergeCommand::run() const {
  const std::string command = command_of_pieces(folders);
  const bool has_results = command == "evaluate";
  const char* wanted = has_results ? "--json" : "--out";
  const char* unwanted = has_results ? "--out" : "--json";
  if ((has_results ? json : out).empty())
    throw usage_error(fmt::format("{}: holds pieces of '{}', which are merged with {}",
                                  folders.front().string(), command, wanted));
  if (!(has_results ? out : json).empty())
    throw usage_error(
        fmt::format("{}: holds pieces of '{}', and {} is not for these; give {} alone",
                    folders.front().string(), command, unwanted, wanted));
  refuse_output_among_pieces(wanted, has_results ? json : out, folders);
  if (command == "evaluate")
    merge_results();
  else if (command == "extract")
    merge_store();
  else if (command == "tune")
    merge_pool();
  else if (command == "study")
    merge_tables();
  else
    throw data_error(fmt::format("{}: holds pieces of '{}', which this version cannot merge",
                                 folders.front().string(), command));
}

void MergeCommand::merge_results() const {
  AtomicFile file(json);  // shows early whether it can be written
  const MergedEvaluations merged = merge_evaluations(folders, threads);
  file.write(results_json(merged.results, merged.store_path, merged.store_sha256));
  file.commit();
  if (merged.warning) fmt::print(stderr, "deepvoro: {}\n", *merged.warning);
  print_evaluations(merged.results, merged.store_path);
  print_line(fmt::format("{}: {}", json, counted(merged.results.size(), "result")));
}

void MergeCommand::merge_pool() const {
  const MergedTuning merged = merge_tuning(folders, out, threads);
  print_tuning(merged.request, merged.result, merged.store_path, out);
}

void MergeCommand::merge_tables() const {
  for (const std::filesystem::path& file : merge_study(folders, out, threads).files)
    print_line(file.string());
}

void MergeCommand::merge_store() const {
  const MergedExtraction merged = merge_extraction(folders, out);
  print_line(fmt::format("{}: {} in {} of {} dimensions", out, counted(merged.pictures, "picture"),
                         counted(merged.views, "view"), merged.dim));
}

}  // namespace

void add_merge_command(CLI::App& program) {
  auto command = std::make_shared<MergeCommand>();
  CLI::App* app = program.add_subcommand("merge", "put together what shards of a command made");
  app->footer(kMergeFooter);
  app->add_option("DIR", command->folders, "folders of pieces, as given to --out")->required();
  app->add_option("--json", command->json, "write the results of evaluate to this file")
      ->check(name_of_file());
  app->add_option("--out", command->out,
                  "pool file of tune, feature store of extract, or folder of study");
  add_threads_option(*app, command->threads);
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
