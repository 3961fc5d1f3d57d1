#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "deepvoro/classifier/classifier.hpp"

namespace deepvoro {

// Whether anything can be beyond a threshold, and the threshold as JSON: null where nothing can.
[[nodiscard]] bool rejects(double threshold);
[[nodiscard]] nlohmann::ordered_json threshold_json(double threshold);

// An answer as programs get it, but for the probabilities; `answer` is the class or "unknown".
[[nodiscard]] nlohmann::ordered_json answer_json(const Classifier& classifier,
                                                 const Prediction& prediction,
                                                 const std::string& file, const std::string& answer,
                                                 double threshold);
// By name of the class.
[[nodiscard]] nlohmann::ordered_json probabilities_json(const Classifier& classifier,
                                                        const Prediction& prediction);

}  // namespace deepvoro
