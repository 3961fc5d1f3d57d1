#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "ensemble/selection.hpp"

namespace deepvoro {

[[nodiscard]] CLI::Validator whole_number();
// Not "-", which many programs take for standard output.
[[nodiscard]] CLI::Validator name_of_file();

// What the commands that draw episodes have in common on the command line.
struct EpisodeOptions {
  EpisodePlan plan;
  std::string protocol = "deepvoro";

  // The plan with its protocol.
  [[nodiscard]] EpisodePlan resolved() const;
};

// The names of --shots, whose number of values is each command's own affair.
inline constexpr const char* kShotsNames = "--shots,--n-shot,--n_shot";

// --ways, --queries, --episodes, --seed, --protocol and the names that other programs have for
// them.
void add_episode_options(CLI::App& app, EpisodeOptions& options, const std::string& seed_help);

void add_threads_option(CLI::App& app, unsigned& threads);

}  // namespace deepvoro
