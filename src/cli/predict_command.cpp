#include "predict_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "classifier_options.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

using nlohmann::ordered_json;

constexpr const char* kPredictFooter = R"(
QUERY is a picture, a folder of pictures, a pattern, or - for a list of these on the standard input; or a feature store.
One row per picture: file, class, nearest class, and the probability of every class. With --reject the class of a picture
that is far from every class is 'unknown'; --strictness high finds more of these and gives up more of the others. JSON has
the distance and the threshold as well: in classifiers of the usual method, 1 is the distance of a typical picture of a class.

Examples:
  deepvoro predict birds.dv garden.jpg pond.jpg
  deepvoro predict birds.dv holiday --reject --json
  deepvoro predict birds.dv holiday --strictness high
  find . -name '*.jpg' | deepvoro predict birds.dv - > answers.csv)";

constexpr const char* kUnknown = "unknown";
const std::vector<std::string> kStrictnessNames{"low", "normal", "high"};

// Text in quotes where a comma, a quote or a line's end is in it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

struct PredictCommand {
  std::string classifier;
  std::vector<std::string> queries;
  bool as_json = false;
  bool as_csv = false;
  bool reject = false;
  std::string strictness;
  std::optional<double> threshold;
  PictureFlags flags;

  void run();

 private:
  struct Answers {
    std::vector<std::string> names;
    std::vector<Prediction> predictions;
  };
  [[nodiscard]] Answers of_store(const Classifier& fitted) const;
  [[nodiscard]] Answers of_pictures(const Classifier& fitted) const;
  [[nodiscard]] double chosen_threshold(const Classifier& fitted) const;
  [[nodiscard]] std::string answer(const Classifier& fitted, const Prediction& prediction) const;
  [[nodiscard]] std::string csv(const Classifier& fitted, const Answers& answers) const;
  [[nodiscard]] std::string json(const Classifier& fitted, const Answers& answers) const;
};

double PredictCommand::chosen_threshold(const Classifier& fitted) const {
  if (threshold) return *threshold;
  const std::string& wanted = strictness.empty() ? kStrictnessNames[1] : strictness;
  const auto place = std::ranges::find(kStrictnessNames, wanted) - kStrictnessNames.begin();
  return fitted.calibration().threshold(kStrictnesses[static_cast<std::size_t>(place)]);
}

std::string PredictCommand::answer(const Classifier& fitted, const Prediction& prediction) const {
  const bool rejects = reject || !strictness.empty() || threshold;
  return rejects && !(prediction.distance < chosen_threshold(fitted))
             ? kUnknown
             : fitted.classes()[prediction.label];
}

PredictCommand::Answers PredictCommand::of_store(const Classifier& fitted) const {
  const FeatureStore store{queries.front()};
  const std::string split = flags.split.empty() ? store.usual_split() : flags.split;
  Answers answers{.names = {}, .predictions = fitted.predict(store, split, flags.looking.threads)};
  for (std::size_t row = 0; row < answers.predictions.size(); ++row)
    answers.names.push_back(fmt::format("{}/{}", split, row));
  return answers;
}

PredictCommand::Answers PredictCommand::of_pictures(const Classifier& fitted) const {
  LookingDisplay display;
  const std::vector<Picture> pictures = pictures_named(queries);
  Answers answers;
  fitted.predict(
      pictures,
      [&](const Prediction& prediction) {
        answers.names.push_back(pictures[prediction.query].where);
        answers.predictions.push_back(prediction);
      },
      display.shown(flags.looking));
  return answers;
}

std::string PredictCommand::csv(const Classifier& fitted, const Answers& answers) const {
  std::string text = "file,class,nearest";
  for (const std::string& name : fitted.classes()) text += "," + csv_field(name);
  text += "\n";
  for (std::size_t q = 0; q < answers.names.size(); ++q) {
    const Prediction& prediction = answers.predictions[q];
    text += csv_field(answers.names[q]) + "," + csv_field(answer(fitted, prediction)) + "," +
            csv_field(fitted.classes()[prediction.label]);
    for (const double probability : prediction.probabilities)
      text += fmt::format(",{:.6g}", probability);
    text += "\n";
  }
  return text;
}

std::string PredictCommand::json(const Classifier& fitted, const Answers& answers) const {
  std::string text = "[";
  for (std::size_t q = 0; q < answers.names.size(); ++q) {
    const Prediction& prediction = answers.predictions[q];
    ordered_json row{{"file", answers.names[q]},
                     {"class", answer(fitted, prediction)},
                     {"nearest", fitted.classes()[prediction.label]},
                     {"distance", prediction.distance},
                     {"threshold", threshold_json(chosen_threshold(fitted))}};
    for (std::size_t k = 0; k < fitted.classes().size(); ++k)
      row["probabilities"][fitted.classes()[k]] = prediction.probabilities[k];
    text +=
        (q == 0 ? "\n" : ",\n") + row.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }
  return text + "\n]\n";
}

void PredictCommand::run() {
  if (as_json && as_csv) throw usage_error("--json and --csv cannot be combined");
  if (!strictness.empty() && threshold)
    throw usage_error("--strictness and --threshold cannot be combined");
  const Classifier fitted = Classifier::load(classifier);
  const bool store = queries.size() == 1 && is_store(queries.front());
  const Answers answers = store ? of_store(fitted) : of_pictures(fitted);
  fmt::print("{}", as_json ? json(fitted, answers) : csv(fitted, answers));
}

}  // namespace

void add_predict_command(CLI::App& program) {
  auto command = std::make_shared<PredictCommand>();
  CLI::App* app = program.add_subcommand("predict", "predict the classes of pictures");
  app->footer(kPredictFooter);
  app->add_option("CLASSIFIER", command->classifier, "file made by deepvoro fit")->required();
  app->add_option("QUERY", command->queries, "pictures, folders, patterns, -, or a feature store")
      ->required();
  app->add_flag("--csv", command->as_csv, "comma-separated values (the default)");
  app->add_flag("--json", command->as_json, "a JSON list");
  app->add_flag("--reject", command->reject,
                "answer 'unknown' where a picture is far from every class");
  app->add_option("--strictness", command->strictness,
                  "as --reject, more or less readily: low, normal or high")
      ->check(CLI::IsMember(kStrictnessNames));
  app->add_option("--threshold", command->threshold,
                  "as --reject, beyond this distance instead of the classifier's own");
  command->flags.add_to(*app,
                        "path of the model that the classifier was fitted with, if it was moved");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
