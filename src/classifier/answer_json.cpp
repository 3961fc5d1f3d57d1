#include "answer_json.hpp"

#include <limits>
#include <nlohmann/json.hpp>

namespace deepvoro {

bool rejects(double threshold) {
  return threshold < std::numeric_limits<double>::max();
}

nlohmann::ordered_json threshold_json(double threshold) {
  return rejects(threshold) ? nlohmann::ordered_json(threshold) : nlohmann::ordered_json();
}

nlohmann::ordered_json answer_json(const Classifier& classifier, const Prediction& prediction,
                                   const std::string& file, const std::string& answer,
                                   double threshold) {
  return {{"file", file},
          {"class", answer},
          {"nearest", classifier.classes()[prediction.label]},
          {"distance", prediction.distance},
          {"threshold", threshold_json(threshold)}};
}

nlohmann::ordered_json probabilities_json(const Classifier& classifier,
                                          const Prediction& prediction) {
  nlohmann::ordered_json by_class;
  for (std::size_t k = 0; k < classifier.classes().size(); ++k)
    by_class[classifier.classes()[k]] = prediction.probabilities[k];
  return by_class;
}

}  // namespace deepvoro
