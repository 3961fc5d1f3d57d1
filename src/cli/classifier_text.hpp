#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "deepvoro/classifier/classifier.hpp"

namespace deepvoro {

// Whether anything can be beyond a threshold, and the threshold as JSON: null where nothing can.
[[nodiscard]] bool rejects(double threshold);
[[nodiscard]] nlohmann::ordered_json threshold_json(double threshold);

// What is in a classifier and how good it is, in plain words; then how it does that.
void print_summary(const std::string& file, const Classifier& classifier);
void print_details(const Classifier& classifier);

}  // namespace deepvoro
