#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "backbone_command.hpp"
#include "change_commands.hpp"
#include "closest_word.hpp"
#include "compare_command.hpp"
#include "core/changed_files.hpp"
#include "core/trusted_files.hpp"
#include "deepvoro/cluster/work_in_crew.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "evaluate_command.hpp"
#include "explain_command.hpp"
#include "extract_command.hpp"
#include "fit_command.hpp"
#include "flag_text.hpp"
#include "info_command.hpp"
#include "merge_command.hpp"
#include "predict_command.hpp"
#include "report_command.hpp"
#include "serve_command.hpp"
#include "store_command.hpp"
#include "study_command.hpp"
#include "test_command.hpp"
#include "train_command.hpp"
#include "tune_command.hpp"

namespace {

enum ExitCode { done = 0, wrong_usage = 2, bad_data = 3, internal_failure = 4 };

ExitCode exit_code(deepvoro::ErrorKind kind) {
  switch (kind) {
    case deepvoro::ErrorKind::usage:
      return wrong_usage;
    case deepvoro::ErrorKind::data:
      return bad_data;
    case deepvoro::ErrorKind::internal:
      break;
  }
  return internal_failure;
}

ExitCode complain(ExitCode code, const std::string& message) {
  fmt::print(stderr, "deepvoro: {}\n", deepvoro::with_flags(message));
  return code;
}

ExitCode complain_of_lost_output() {
  return complain(bad_data, "standard output cannot be written; is the disk full?");
}

// A word where a command should be.
std::string explain_command(const CLI::App& app, const std::string& command,
                            const std::string& word) {
  std::vector<std::string> commands;
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(known->get_name());
  const auto meant = deepvoro::closest_word(word, commands);
  return fmt::format(
      "there is no command '{}'; {}", word,
      meant ? fmt::format("did you mean {}?", *meant) : fmt::format("see {} --help", command));
}

std::optional<std::string> closest_flag(const CLI::App& app, const std::string& flag) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return deepvoro::closest_word(flag.substr(0, flag.find('=')), flags);
}

const char* word_advice(const CLI::App& app) {
  const bool takes_lists = std::ranges::any_of(app.get_options(), [](const CLI::Option* option) {
    return !option->get_positional() && option->get_expected_max() > 1;
  });
  return takes_lists ? " (separate several values by commas, as in --shots 1,5)"
                     : " (put a name with spaces in quotes)";
}

// What the parser found, led by a word it could not place, which is the likelier cause.
std::string explain(const CLI::App& program, const CLI::ParseError& error) {
  std::string command = "deepvoro";
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    command += " " + app->get_name();
  }
  const std::vector<std::string> unknown = program.remaining(true);
  if (unknown.empty()) return fmt::format("{}; see {} --help", error.what(), command);
  const bool is_flag = unknown.front().starts_with('-');
  if (!is_flag && app->get_require_subcommand_min() > 0)
    return explain_command(*app, command, unknown.front());
  if (const auto meant = is_flag ? closest_flag(*app, unknown.front()) : std::nullopt)
    return fmt::format("unexpected argument '{}'; did you mean {}?", unknown.front(), *meant);
  return fmt::format("unexpected argument '{}'{}; see {} --help", unknown.front(),
                     is_flag ? "" : word_advice(*app), command);
}

constexpr const char* kFooter = R"(
Examples:
  deepvoro fit birds --out birds.dv         birds has a folder of pictures for each class
  deepvoro predict birds.dv garden.jpg
  deepvoro evaluate data/quickdraw --method vd,deepvoro --shots 1,5

'deepvoro COMMAND --help' tells more. Exit codes: 0 done, 2 wrong usage, 3 bad or missing data, 4 internal error.)";

void group(CLI::App& program, const std::string& title,
           std::initializer_list<const char*> commands) {
  for (const char* command : commands) program.get_subcommand(command)->group(title);
}

void describe(CLI::App& program) {
  program.name("deepvoro");
  program.require_subcommand(1);
  program.set_version_flag(
      "--version", fmt::format("deepvoro {} ({})", deepvoro::version(), deepvoro::commit()));
  program.footer(kFooter);
  program.fallthrough();
  program.add_flag_callback(
      "--trust-files", [] { static const deepvoro::TrustInAllFiles in_all_of_them; },
      "read files that unpack to far more than they hold, too");
  deepvoro::add_fit_command(program);
  deepvoro::add_predict_command(program);
  deepvoro::add_change_commands(program);
  deepvoro::add_explain_command(program);
  deepvoro::add_info_command(program);
  deepvoro::add_test_command(program);
  deepvoro::add_evaluate_command(program);
  deepvoro::add_tune_command(program);
  deepvoro::add_compare_command(program);
  deepvoro::add_merge_command(program);
  deepvoro::add_study_command(program);
  deepvoro::add_report_command(program);
  deepvoro::add_store_command(program);
  deepvoro::add_backbone_command(program);
  deepvoro::add_train_command(program);
  deepvoro::add_extract_command(program);
#ifdef DEEPVORO_SERVE
  deepvoro::add_serve_command(program);
  group(program, "Classify pictures", {"serve"});
#endif
  group(program, "Classify pictures",
        {"fit", "predict", "test", "explain", "info", "add", "remove", "rename"});
  group(program, "Compare methods on features",
        {"evaluate", "tune", "merge", "compare", "study", "report", "store"});
  group(program, "Make features with networks", {"backbone", "train", "extract"});
}

void show_help(const CLI::App& program) {
  fmt::print("{}", program.help());
  std::fflush(stdout);  // before the complaint
}

// What the parser takes, the last word first; 'help COMMAND' is 'COMMAND --help'.
std::vector<std::string> words(int argc, char** argv) {
  std::vector<std::string> given(argv + 1, argv + argc);
  if (!given.empty() && given.front() == "help") {
    given.erase(given.begin());
    given.emplace_back("--help");
  }
  std::ranges::reverse(given);
  return given;
}

// What takes the memory depends on the command.
const char* memory_advice(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "evaluate" || command == "tune" || command == "study")
    return "try fewer --episodes, --ways or --queries";
  return "try fewer --threads, or smaller or fewer files at a time";
}

int run(int argc, char** argv) {
  try {
    CLI::App program(
        "Classifies pictures after seeing a few of each class, by cluster-induced Voronoi "
        "diagrams.");
    describe(program);
    try {
      program.parse(words(argc, argv));
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
      if (argc == 1) show_help(program);
      return complain(wrong_usage, explain(program, error));
    }
    deepvoro::throw_if_files_changed();
    return done;
  } catch (const deepvoro::StoppedByAnother&) {
    // The one that failed says so, and what mpirun returns. Were this a failure too, mpirun would
    // end that one, perhaps before its line is out.
    return done;
  } catch (const deepvoro::Error& error) {
    return complain(exit_code(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return complain(internal_failure, fmt::format("out of memory; {}", memory_advice(argc, argv)));
  } catch (const std::filesystem::filesystem_error& error) {
    return complain(bad_data,
                    fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return complain_of_lost_output();
    return complain(internal_failure, fmt::format("internal error: {}", error.what()));
  }
}

// A file that is opened takes the lowest free number, so without this one that is written could
// become the standard output of whoever closed it.
void reserve_standard_files() {
  constexpr const char* nothing = "/dev/null";
  if (::fcntl(STDIN_FILENO, F_GETFD) < 0) ::open(nothing, O_RDONLY);
  if (::fcntl(STDOUT_FILENO, F_GETFD) < 0) ::open(nothing, O_RDONLY);  // writing still fails
  if (::fcntl(STDERR_FILENO, F_GETFD) < 0) ::open(nothing, O_WRONLY);
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_files();
  std::signal(SIGXFSZ, SIG_IGN);  // writing too much is an error like any other
  try {
    const int code = run(argc, argv);
    // What was printed may still wait to be written, or have failed unnoticed.
    const bool is_lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
    return code == done && is_lost ? complain_of_lost_output() : code;
  } catch (...) {  // not even the complaint could be printed
    return internal_failure;
  }
}
