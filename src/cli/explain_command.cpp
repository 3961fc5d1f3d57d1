#include "explain_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "classifier/answer_json.hpp"
#include "classifier_options.hpp"
#include "deepvoro/core/error.hpp"
#include "print_line.hpp"

namespace deepvoro {
namespace {

using nlohmann::ordered_json;
using Parts = std::vector<Explanation::Part>;

constexpr const char* kExplainFooter = R"(
Shown are the distance beside the one beyond which a picture is unknown, the influence of every class (larger is nearer),
what views, transformations and diagrams say, and the nearest pictures.

Examples:
  deepvoro explain birds.dv garden.jpg
  deepvoro explain birds.dv garden.jpg --neighbours 10 --json)";

// Classes in the text, the nearest first; more would not be read.
constexpr std::size_t kShownClasses = 10;

struct ExplainCommand {
  std::string classifier;
  std::string picture;
  std::size_t neighbours = 5;
  bool as_json = false;
  PictureFlags flags;

  void run();

 private:
  [[nodiscard]] Explanation of_picture(const Classifier& fitted) const;
};

ordered_json by_class(const Classifier& fitted, const auto& values) {
  ordered_json object = ordered_json::object();
  for (std::size_t k = 0; k < values.size(); ++k) object[fitted.classes()[k]] = values[k];
  return object;
}

ordered_json to_json(const Classifier& fitted, const Parts& parts) {
  ordered_json list = ordered_json::array();
  for (const auto& part : parts)
    list.push_back({{"name", part.name},
                    {"members", part.members},
                    {"influence", by_class(fitted, part.influence)},
                    {"votes", by_class(fitted, part.votes)}});
  return list;
}

ordered_json to_json(const Classifier& fitted, const Explanation& explanation,
                     const std::string& picture) {
  const Prediction& prediction = explanation.prediction;
  ordered_json near = ordered_json::array();
  for (const auto& neighbour : explanation.neighbours)
    near.push_back({{"class", fitted.classes()[neighbour.label]},
                    {"name", neighbour.name},
                    {"distance", neighbour.distance}});
  return {{"file", picture},
          {"class", fitted.classes()[prediction.label]},
          {"unknown", prediction.unknown},
          {"distance", prediction.distance},
          {"probabilities", by_class(fitted, prediction.probabilities)},
          {"influence", by_class(fitted, prediction.influence)},
          {"threshold", threshold_json(fitted.calibration().threshold())},
          {"temperature", fitted.calibration().temperature},
          {"views", to_json(fitted, explanation.views)},
          {"transformations", to_json(fitted, explanation.transformations)},
          {"geometries", to_json(fitted, explanation.geometries)},
          {"neighbours", near}};
}

// As wide as the longest of some texts.
std::size_t width_of(const std::vector<std::string>& texts) {
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  return width;
}

std::vector<std::size_t> largest_first(const auto& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t k) { return values[k]; });
  return order;
}

void print_level(const Classifier& fitted, const std::string& level, const Parts& parts) {
  std::vector<std::string> names{level};
  for (const auto& part : parts) names.push_back(part.name);
  const std::size_t width = width_of(names);
  fmt::print("\n{:<{}}  members  votes\n", level, width);
  for (const auto& part : parts) {
    std::string votes;
    for (const std::size_t k : largest_first(part.votes))
      if (part.votes[k] > 0)
        votes +=
            fmt::format("{}{} {}", votes.empty() ? "" : ", ", fitted.classes()[k], part.votes[k]);
    fmt::print("{:<{}}  {:>7}  {}\n", part.name, width, part.members, votes);
  }
}

std::string distance_text(const Classifier& fitted, const Prediction& prediction) {
  const double threshold = fitted.calibration().threshold();
  const std::string distance = fmt::format("distance {:.4f}", prediction.distance);
  if (!rejects(threshold)) return distance + "; with one class nothing is unknown";
  return fmt::format("{}, unknown beyond {:.4f}: predict --reject answers {}", distance, threshold,
                     prediction.unknown ? "unknown" : fitted.classes()[prediction.label]);
}

void print(const Classifier& fitted, const Explanation& explanation, const std::string& picture) {
  const Prediction& prediction = explanation.prediction;
  print_line(fmt::format("{}: {}, probability {:.4f}", picture, fitted.classes()[prediction.label],
                         prediction.probabilities[prediction.label]));
  fmt::print("{}\n\n", distance_text(fitted, prediction));
  std::vector<std::size_t> order = largest_first(prediction.influence);
  const std::size_t hidden = order.size() - std::min(order.size(), kShownClasses);
  order.resize(order.size() - hidden);
  std::vector<std::string> names{"class"};
  for (const std::size_t k : order) names.push_back(fitted.classes()[k]);
  std::size_t width = width_of(names);
  fmt::print("{:<{}}  influence  probability\n", "class", width);
  for (const std::size_t k : order)
    fmt::print("{:<{}}  {:>9.4f}  {:>11.4f}\n", fitted.classes()[k], width, prediction.influence[k],
               prediction.probabilities[k]);
  if (hidden > 0) fmt::print("and {} more\n", hidden);
  print_level(fitted, "view", explanation.views);
  print_level(fitted, "transformation", explanation.transformations);
  print_level(fitted, "geometry", explanation.geometries);
  names = {"nearest pictures"};
  for (const auto& neighbour : explanation.neighbours)
    names.push_back(fitted.classes()[neighbour.label] + "/" + neighbour.name);
  width = width_of(names);
  fmt::print("\n{:<{}}  distance\n", names.front(), width);
  for (std::size_t i = 0; i < explanation.neighbours.size(); ++i)
    fmt::print("{:<{}}  {:>8.4f}\n", names[i + 1], width, explanation.neighbours[i].distance);
}

Explanation ExplainCommand::of_picture(const Classifier& fitted) const {
  if (is_store(picture) || is_feature_file(picture))
    throw usage_error(fmt::format("{}: has features; explain takes a picture", picture));
  LookingDisplay display;
  const std::vector<Picture> pictures = pictures_at(picture);
  if (pictures.size() != 1)
    throw usage_error(
        fmt::format("{}: holds {} pictures; explain takes one", picture, pictures.size()));
  return fitted.explain(pictures.front(), neighbours, display.shown(flags.looking));
}

void ExplainCommand::run() {
  const Classifier fitted = load_classifier("explain", classifier, {&picture, 1});
  const Explanation explanation = of_picture(fitted);
  if (as_json)
    fmt::print("{}\n", to_json(fitted, explanation, picture)
                           .dump(1, ' ', false, ordered_json::error_handler_t::replace));
  else
    print(fitted, explanation, picture);
}

}  // namespace

void add_explain_command(CLI::App& program) {
  auto command = std::make_shared<ExplainCommand>();
  CLI::App* app = program.add_subcommand("explain", "explain why a picture got its class");
  app->footer(kExplainFooter);
  app->add_option("CLASSIFIER", command->classifier, "file made by deepvoro fit")->required();
  app->add_option("PICTURE", command->picture, "picture to explain")->required();
  app->add_option("--neighbours", command->neighbours, "nearest pictures to show")
      ->capture_default_str();
  app->add_flag("--json", command->as_json, "as JSON, with the influence of every class");
  command->flags.add_network_to(
      *app, "path of the model that the classifier was fitted with, if it was moved");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
