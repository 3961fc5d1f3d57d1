#pragma once

#include <string>

#include "deepvoro/core/export.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/heads/logistic_options.hpp"

namespace deepvoro {

// How SimpleShot prepares a row: not at all, to unit length, or less the mean of all base rows and
// then to unit length.
enum class Normalisation { un, l2n, cl2n };

[[nodiscard]] DEEPVORO_API Normalisation normalisation_named(const std::string& name);
[[nodiscard]] DEEPVORO_API const char* name(Normalisation normalisation);
[[nodiscard]] DEEPVORO_API LogisticKind logistic_kind_named(const std::string& name);
[[nodiscard]] DEEPVORO_API const char* name(LogisticKind kind);
[[nodiscard]] DEEPVORO_API LogisticStart logistic_start_named(const std::string& name);
[[nodiscard]] DEEPVORO_API const char* name(LogisticStart start);

// A method that fits one head on one view.
struct HeadConfiguration {
  Method method = Method::power_lr;
  std::string view;
  // Of the three with logistic regression; its kind is that of deepvoro--.
  LogisticOptions logistic = {};
  Normalisation normalisation = Normalisation::cl2n;  // of simpleshot
  bool is_signed = false;                             // square roots of negative features
};

}  // namespace deepvoro
