#include "left_out_answers.hpp"

#include <algorithm>

#include "left_out_scores.hpp"
#include "state.hpp"

namespace deepvoro {

std::vector<LeftOutAnswer> left_out_answers(const Classifier& classifier, unsigned threads) {
  const Calibration& calibration = classifier.calibration();
  std::vector<LeftOutAnswer> answers;
  for (std::size_t i = 0; i < calibration.left_out.size(); ++i)
    if (const auto label = calibration.left_out[i])
      answers.push_back({.sample = i, .label = *label});
  if (answers.empty() || !calibration.ridge_vd) return answers;

  const RidgeVoronoiChoice& choice = *calibration.ridge_vd;
  const LeftOut left_out = leave_out(viewed(classifier.samples(), classifier.views()),
                                     choice.exponent, classifier.statistics(), threads);
  const auto way = std::ranges::find_if(left_out.ways, [&](const LeftOutScores& one) {
    return one.is_logistic == choice.is_logistic &&
           (one.is_logistic || one.strength == choice.strength);
  });
  if (way == left_out.ways.end()) return answers;
  for (std::size_t row = 0; row < left_out.samples.size(); ++row) {
    const auto answer = std::ranges::find(answers, left_out.samples[row], &LeftOutAnswer::sample);
    if (answer == answers.end()) continue;
    answer->probabilities.resize(way->scores.cols());
    probabilities(way->scores.view()[row], way->temperature, answer->probabilities);
  }
  return answers;
}

}  // namespace deepvoro
