#include "predict_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answer_rows.hpp"
#include "classifier_options.hpp"
#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/features/row_names.hpp"

namespace deepvoro {
namespace {

constexpr const char* kPredictFooter = R"(
QUERY is a picture, a folder, .zip or .tar of pictures, a folder of .tar shards, a pattern, or - for a list of these on the
standard input; or a feature store; or a .npy, .npz, .h5 or .safetensors file of features, a row per query, views side by side or
each in an array of its name.
One row per picture, as soon as it is known: file, class, nearest class, and the probability of every class. A picture that
cannot be read, or is missing, has a row that says why, and the exit code is 3 at the end. With --reject the class of a picture
that is far from every class is 'unknown'; --strictness high finds more of these and gives up more of the others. JSON has
the distance and the threshold as well: in classifiers of the usual method, 1 is the distance of a typical picture of a class.

Examples:
  deepvoro predict birds.dv garden.jpg pond.jpg
  deepvoro predict birds.dv holiday --reject --json
  deepvoro predict birds.dv holiday --strictness high --top 3
  curl -s https://example.org/bird.jpg | deepvoro predict birds.dv --stdin-picture
  find . -name '*.jpg' | deepvoro predict birds.dv - > answers.csv)";

const std::vector<std::string> kStrictnessNames{"low", "normal", "high"};

struct PredictCommand {
  std::string classifier;
  std::vector<std::string> queries;
  bool as_json = false;
  bool as_csv = false;
  bool reject = false;
  bool picture_on_input = false;
  std::string strictness;
  std::optional<double> threshold;
  std::optional<std::size_t> top;
  PictureFlags flags;

  void run();

 private:
  void check() const;
  [[nodiscard]] AnswerForm form_for(const Classifier& fitted) const;
  [[nodiscard]] std::vector<Picture> pictures() const;
  void answer_store(const Classifier& fitted, AnswerRows& rows) const;
  void answer_rows(const Classifier& fitted, AnswerRows& rows) const;
  void answer_pictures(const Classifier& fitted, AnswerRows& rows) const;
};

void PredictCommand::check() const {
  if (as_json && as_csv) throw usage_error("--json and --csv cannot be combined");
  if (!strictness.empty() && threshold)
    throw usage_error("--strictness and --threshold cannot be combined");
  if (queries.empty() && !picture_on_input)
    throw usage_error("QUERY is required: pictures, folders, patterns, -, or a feature store");
  if (!queries.empty() && picture_on_input)
    throw usage_error("--stdin-picture takes the place of QUERY");
}

AnswerForm PredictCommand::form_for(const Classifier& fitted) const {
  const std::string& wanted = strictness.empty() ? kStrictnessNames[1] : strictness;
  const auto place = std::ranges::find(kStrictnessNames, wanted) - kStrictnessNames.begin();
  AnswerForm form{.as_json = as_json, .reject = {}, .threshold = 0, .top = top};
  form.threshold =
      threshold ? *threshold
                : fitted.calibration().threshold(kStrictnesses[static_cast<std::size_t>(place)]);
  if (reject || !strictness.empty() || threshold) form.reject = form.threshold;
  return form;
}

std::vector<Picture> PredictCommand::pictures() const {
  if (!picture_on_input) return pictures_named(queries, MissingFile::is_unreadable);
  return {picture_from_bytes(bytes_of_input(), "standard input")};
}

void PredictCommand::answer_store(const Classifier& fitted, AnswerRows& rows) const {
  const FeatureStore store{queries.front()};
  const std::string split = flags.split.empty() ? store.usual_split() : flags.split;
  const std::vector<Prediction> predictions = fitted.predict(store, split, flags.looking.threads);
  const std::vector<std::string> names = row_names(store, split);
  for (const Prediction& prediction : predictions)
    rows.add(
        names.empty() ? fmt::format("{}/{}", split, prediction.query) : names[prediction.query],
        prediction);
  rows.end();
}

// Goes past pictures that cannot be read. Unless they are to be skipped, each has a row that says
// why, and the command ends with an error: an answer is missing.
void PredictCommand::answer_pictures(const Classifier& fitted, AnswerRows& rows) const {
  const std::vector<Picture> all = pictures();
  LookingDisplay display(LookingDisplay::Result::rows);
  PictureOptions options = display.shown(flags.looking);
  std::size_t unreadable = 0;
  if (!options.skip_bad) {
    options.skip_bad = true;
    options.events.skipped = [&](std::size_t picture, const std::string& reason) {
      rows.add_unreadable(all[picture].where, reason);
      ++unreadable;
    };
  }
  options.events.looked = [&, tell = options.events.looked](LookedAt result) {
    if (unreadable > 0) result.skipped.clear();
    rows.end();
    tell(result);
  };
  fitted.predict(
      all, [&](const Prediction& prediction) { rows.add(all[prediction.query].where, prediction); },
      options);
  if (unreadable > 0)
    throw data_error(
        fmt::format("{} of {} cannot be read, as {} with an error {}; `skip_bad` leaves "
                    "such pictures out",
                    unreadable, counted(all.size(), "picture"),
                    unreadable == 1 ? "the row" : "the rows", unreadable == 1 ? "says" : "say"));
}

void PredictCommand::answer_rows(const Classifier& fitted, AnswerRows& rows) const {
  const std::string& file = queries.front();
  for (const Prediction& prediction : fitted.predict_rows(file, flags.looking.threads))
    rows.add(fmt::format("{}/{}", file, prediction.query), prediction);
  rows.end();
}

void PredictCommand::run() {
  check();
  const Classifier fitted = load_classifier("predict", classifier, queries);
  const bool of_store = queries.size() == 1 && is_store(queries.front());
  const bool of_rows = queries.size() == 1 && !of_store && is_feature_file(queries.front());
  if (of_store) refuse_fast_decode_of_features(flags.looking.fast_decode);
  if (of_rows) refuse_fast_decode_of_features(flags.looking.fast_decode, "a file of features");
  AnswerRows rows(fitted, form_for(fitted));
  if (of_store)
    answer_store(fitted, rows);
  else if (of_rows)
    answer_rows(fitted, rows);
  else
    answer_pictures(fitted, rows);
}

}  // namespace

void add_predict_command(CLI::App& program) {
  auto command = std::make_shared<PredictCommand>();
  CLI::App* app = program.add_subcommand("predict", "predict the classes of pictures");
  app->footer(kPredictFooter);
  app->add_option("CLASSIFIER", command->classifier, "file made by deepvoro fit")->required();
  app->add_option("QUERY", command->queries, "pictures, folders, patterns, -, or a feature store");
  app->add_flag("--stdin-picture", command->picture_on_input,
                "the picture itself is on the standard input, instead of QUERY");
  app->add_flag("--csv", command->as_csv, "comma-separated values (the default)");
  app->add_flag("--json", command->as_json, "a JSON list");
  app->add_option("--top", command->top,
                  "only so many classes per picture, the most probable first")
      ->check([](const std::string& text) -> std::string {
        const bool is_positive = text.find_first_not_of("0123456789") == std::string::npos &&
                                 text.find_first_not_of('0') != std::string::npos;
        return is_positive ? "" : fmt::format("{} is not a whole number of at least 1", text);
      });
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
