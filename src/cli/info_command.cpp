#include "info_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "classifier_options.hpp"
#include "classifier_text.hpp"
#include "deepvoro/classifier/describe.hpp"

namespace deepvoro {
namespace {

constexpr const char* kInfoFooter = R"(
Examples:
  deepvoro info birds.dv
  deepvoro info birds.dv --pictures
  deepvoro info birds.dv --json)";

struct InfoCommand {
  std::string classifier;
  bool with_pictures = false;
  bool as_json = false;

  void run() const;
};

void InfoCommand::run() const {
  const Classifier fitted = load_classifier("info", classifier);
  if (as_json) {
    fmt::print("{}\n", info_json(fitted, with_pictures));
    return;
  }
  print_summary(classifier, fitted);
  fmt::print("pictures  class\n");
  for (std::size_t k = 0; k < fitted.classes().size(); ++k) {
    fmt::print("{:>8}  {}\n", std::ranges::count(fitted.labels(), k), fitted.classes()[k]);
    for (std::size_t i = 0; with_pictures && i < fitted.labels().size(); ++i)
      if (fitted.labels()[i] == k)
        fmt::print("          {}/{}\n", fitted.classes()[k], fitted.names()[i]);
  }
  print_details(fitted);
}

}  // namespace

void add_info_command(CLI::App& program) {
  auto command = std::make_shared<InfoCommand>();
  CLI::App* app = program.add_subcommand("info", "show what is in a classifier file");
  app->footer(kInfoFooter);
  app->add_option("CLASSIFIER", command->classifier, "file made by deepvoro fit")->required();
  app->add_flag("--pictures", command->with_pictures, "also the name of every picture");
  app->add_flag("--json", command->as_json, "as JSON");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
