#include "info_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "classifier_options.hpp"

namespace deepvoro {
namespace {

using nlohmann::ordered_json;

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

// Each class with the names of its pictures.
std::vector<std::vector<std::string>> pictures_of(const Classifier& fitted) {
  std::vector<std::vector<std::string>> names(fitted.classes().size());
  for (std::size_t i = 0; i < fitted.labels().size(); ++i)
    names[fitted.labels()[i]].push_back(fitted.names()[i]);
  return names;
}

void InfoCommand::run() const {
  const Classifier fitted = Classifier::load(classifier);
  const auto pictures = pictures_of(fitted);
  if (as_json) {
    ordered_json text = summary_json(fitted);
    if (with_pictures)
      for (std::size_t k = 0; k < pictures.size(); ++k) text["classes"][k]["names"] = pictures[k];
    fmt::print("{}\n", text.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    return;
  }
  print_summary(classifier, fitted);
  const FeatureOrigin& origin = fitted.origin();
  fmt::print("{}; {} {} of {} features\n",
             origin.backbone.empty() ? "of features that were given"
                                     : fmt::format("backbone {}", origin.backbone),
             fitted.views().size(), fitted.views().size() == 1 ? "view" : "views", fitted.dim());
  for (std::size_t k = 0; k < pictures.size(); ++k) {
    fmt::print("{:>6}  {}\n", pictures[k].size(), fitted.classes()[k]);
    if (with_pictures)
      for (const std::string& name : pictures[k])
        fmt::print("        {}/{}\n", fitted.classes()[k], name);
  }
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
