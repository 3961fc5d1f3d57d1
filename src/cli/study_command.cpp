#include "study_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "closest_word.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/study/paper_study.hpp"
#include "deepvoro/study/study_shards.hpp"
#include "episode_options.hpp"
#include "print_line.hpp"
#include "progress_bar.hpp"
#include "shard_options.hpp"
#include "stopped_note.hpp"

namespace deepvoro {
namespace {

constexpr const char* kStudyNote = R"(
A study makes tables and figures of the paper again, on feature stores with the splits base, val and
novel, and writes their data: DIR/NAME.json and DIR/NAME-TABLE.csv. Members are those that tune
chooses on val; they are left in DIR/pools. Several studies share a folder and what they have in
common; interrupted, the same command goes on where it stopped. With --shard a share has some of the
stores and numbers of shots.
)";

std::string study_footer() {
  std::string text = kStudyNote;
  text += "\nStudies:\n";
  for (const StudyDescription& study : paper_studies())
    text += fmt::format("  {:<18}{} ({})\n", study.name, study.title, study.paper);
  text += "\nExamples:";
  for (const StudyDescription& study : paper_studies())
    text += fmt::format("\n  deepvoro study {} {}", study.name, study.example);
  return text;
}

struct StudyCommand {
  EpisodeOptions episodes;
  StudyRequest request;
  std::string out;
  std::string shard;

  void run() const;

 private:
  void run_share(const StudyRequest& resolved) const;
};

void check_name(const std::string& name) {
  std::vector<std::string> known;
  for (const StudyDescription& study : paper_studies()) known.emplace_back(study.name);
  if (std::ranges::count(known, name) > 0) return;
  if (const auto meant = closest_word(name, known))
    throw usage_error(fmt::format("there is no study '{}'; did you mean {}?", name, *meant));
}

void StudyCommand::run_share(const StudyRequest& resolved) const {
  run_shard(shard, out, [&](PieceDealer& dealer, const Progress& progress) {
    return study_share(resolved, dealer, out, progress);
  });
}

void StudyCommand::run() const {
  check_name(request.study);
  StudyRequest resolved = request;
  resolved.plan = episodes.resolved();
  check(resolved);
  if (!shard.empty()) return run_share(resolved);
  const std::string steps = (std::filesystem::path(out) / ".steps").string();
  std::optional<ProgressBar> bar(fmt::format("study {}", resolved.study));
  std::optional<StoppedNote> note(steps);
  const StudyResult result = run_study(resolved, out, bar->callback());
  note.reset();
  bar.reset();
  if (result.kept_steps > 0)
    fmt::print(stderr, "took {} of {} steps from {}\n", result.kept_steps, result.steps, steps);
  for (const std::filesystem::path& file : result.files) print_line(file.string());
}

}  // namespace

void add_study_command(CLI::App& program) {
  auto command = std::make_shared<StudyCommand>();
  CLI::App* app = program.add_subcommand("study", "make the paper's tables and figures again");
  app->footer(study_footer());
  app->add_option("NAME", command->request.study, "which study, see below")->required();
  app->add_option("STORE", command->request.stores, "feature stores (folders)")->required();
  app->add_option("--out", command->out, "folder to write to; several studies can share it")
      ->required();
  add_shard_option(*app, command->shard);
  app->add_option(kShotsNames, command->request.shots,
                  "labelled samples per class, several separated by commas [those of the paper]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number());
  add_episode_options(*app, command->episodes, "seed of the episodes and of random subsets");
  app->add_flag("--signed", command->request.is_signed,
                "signed transformations, for features with negative values (CLIP, DINO)");
  add_threads_option(*app, command->request.threads);
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
