#include "deepvoro/classifier/describe.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace deepvoro {
namespace {

using nlohmann::ordered_json;

std::string indented(const ordered_json& text) {
  return text.dump(1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json classes_json(const Classifier& classifier, bool with_pictures) {
  ordered_json classes = ordered_json::array();
  for (std::size_t k = 0; k < classifier.classes().size(); ++k) {
    const LeftOutCount left_out = count_left_out(classifier.calibration(), classifier.labels(), k);
    classes.push_back(
        {{"name", classifier.classes()[k]},
         {"pictures", std::ranges::count(classifier.labels(), k)},
         {"left_out", {{"pictures", left_out.samples}, {"right", left_out.correct}}}});
    if (with_pictures) classes.back()["names"] = ordered_json::array();
  }
  if (with_pictures)
    for (std::size_t i = 0; i < classifier.labels().size(); ++i)
      classes[classifier.labels()[i]]["names"].push_back(classifier.names()[i]);
  return classes;
}

ordered_json left_out_json(const Classifier& classifier) {
  const Calibration& calibration = classifier.calibration();
  const LeftOutCount all = count_left_out(calibration, classifier.labels());
  ordered_json text{
      {"pictures", all.samples}, {"right", all.correct}, {"wrong", ordered_json::array()}};
  for (std::size_t i = 0; i < calibration.left_out.size(); ++i)
    if (const auto answer = calibration.left_out[i]; answer && *answer != classifier.labels()[i])
      text["wrong"].push_back({{"class", classifier.classes()[classifier.labels()[i]]},
                               {"picture", classifier.names()[i]},
                               {"answer", classifier.classes()[*answer]}});
  return text;
}

ordered_json proportion_json(const Proportion& proportion) {
  const PercentInterval interval = wilson95(proportion);
  return {{"count", proportion.count},
          {"of", proportion.of},
          {"percent", proportion.of == 0 ? ordered_json() : ordered_json(proportion.percent())},
          {"interval95", {interval.low, interval.high}}};
}

}  // namespace

std::string decider(const Classifier& classifier) {
  const auto& choice = classifier.calibration().ridge_vd;
  if (!choice) return "ensemble";
  return choice->is_logistic ? "logistic regression" : "ridge regression and class means";
}

std::string info_json(const Classifier& classifier, bool with_pictures) {
  const double threshold = classifier.calibration().threshold();
  return indented(
      {{"format", "deepvoro-info"},
       {"version", 1},
       {"method", name(classifier.method())},
       {"decides", decider(classifier)},
       {"backbone", classifier.origin().backbone},
       {"backbone_sha256", classifier.origin().sha256},
       {"fast_decode", classifier.origin().fast_decode},
       {"views", classifier.views()},
       {"dim", classifier.dim()},
       {"members", classifier.pool().size()},
       {"temperature", classifier.calibration().temperature},
       {"threshold",
        threshold < std::numeric_limits<double>::max() ? ordered_json(threshold) : ordered_json()},
       {"left_out", left_out_json(classifier)},
       {"classes", classes_json(classifier, with_pictures)}});
}

std::string test_json(const ClassifierTest& test) {
  ordered_json text{{"format", "deepvoro-test"},
                    {"version", 1},
                    {"accuracy", proportion_json(test.right())},
                    {"known_kept", proportion_json(test.known_kept())},
                    {"strangers_found", proportion_json(test.strangers_found())},
                    {"classes", test.classes},
                    {"known_classes", test.known_classes},
                    {"confusion", test.confusion()},
                    {"by_class", ordered_json::array()},
                    {"answers", ordered_json::array()},
                    {"skipped", test.skipped}};
  for (std::size_t k = 0; k < test.known_classes; ++k)
    text["by_class"].push_back(
        {{"class", test.classes[k]}, {"right", proportion_json(test.right(k))}});
  for (const ClassifierTest::Answer& answer : test.answers)
    text["answers"].push_back(
        {{"file", answer.name},
         {"true_class", test.classes[answer.label]},
         {"nearest", test.classes[answer.prediction.label]},
         {"unknown", answer.prediction.unknown},
         {"probability", answer.prediction.probabilities[answer.prediction.label]},
         {"distance", answer.prediction.distance}});
  return indented(text);
}

}  // namespace deepvoro
