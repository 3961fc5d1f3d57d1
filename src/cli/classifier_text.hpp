#pragma once

#include <string>

#include "deepvoro/classifier/classifier.hpp"

namespace deepvoro {

// What is in a classifier and how good it is, in plain words; then how it does that.
void print_summary(const std::string& file, const Classifier& classifier);
void print_details(const Classifier& classifier);

}  // namespace deepvoro
