#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "evaluate_command.hpp"
#include "store_command.hpp"

namespace {

enum ExitCode { kDone = 0, kUsage = 2, kData = 3, kInternal = 4 };

ExitCode exit_code(deepvoro::ErrorKind kind) {
  switch (kind) {
    case deepvoro::ErrorKind::usage:
      return kUsage;
    case deepvoro::ErrorKind::data:
      return kData;
    case deepvoro::ErrorKind::internal:
      break;
  }
  return kInternal;
}

// One line, whatever file or class names it quotes.
ExitCode complain(ExitCode code, std::string message) {
  std::ranges::replace_if(
      message, [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
  fmt::print(stderr, "deepvoro: {}\n", message);
  return code;
}

void describe(CLI::App& program) {
  program.name("deepvoro");
  program.require_subcommand(1);
  program.set_version_flag(
      "--version", fmt::format("deepvoro {} ({})", deepvoro::version(), deepvoro::commit()));
  program.footer(
      "\nExample:\n  deepvoro evaluate data/quickdraw --method vd,deepvoro --shots 1,5\n\n"
      "Exit codes: 0 done, 2 wrong usage, 3 bad or missing data, 4 internal error.");
  deepvoro::add_evaluate_command(program);
  deepvoro::add_store_command(program);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CLI::App program("Few-shot classification by cluster-induced Voronoi diagrams.");
    describe(program);
    try {
      program.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
      return complain(kUsage, fmt::format("{}; see deepvoro --help", error.what()));
    }
    return kDone;
  } catch (const deepvoro::Error& error) {
    return complain(exit_code(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return complain(kInternal, "not enough memory; fewer --ways, --queries or --threads need less");
  } catch (const std::exception& error) {
    return complain(kInternal, fmt::format("internal error: {}", error.what()));
  }
}
