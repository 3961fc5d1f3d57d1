#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "deepvoro/ensemble/ensemble.hpp"
#include "deepvoro/heads/logistic.hpp"
#include "deepvoro/heads/preparation.hpp"

namespace deepvoro {

// How SimpleShot prepares a row: not at all, to unit length, or less the mean of all base rows and
// then to unit length.
enum class Normalisation { un, l2n, cl2n };

[[nodiscard]] Normalisation normalisation_named(const std::string& name);
[[nodiscard]] const char* name(Normalisation normalisation);
[[nodiscard]] LogisticKind logistic_kind_named(const std::string& name);
[[nodiscard]] const char* name(LogisticKind kind);
[[nodiscard]] LogisticStart logistic_start_named(const std::string& name);
[[nodiscard]] const char* name(LogisticStart start);

// A method that fits one head on one view.
struct HeadConfiguration {
  Method method = Method::power_lr;
  std::string view;
  LogisticOptions
      logistic;  // of the three with logistic regression; its kind is that of deepvoro--
  Normalisation normalisation = Normalisation::cl2n;  // of simpleshot
  bool is_signed = false;                             // square roots of negative features
};

// Whether a method is or has a logistic regression.
[[nodiscard]] bool has_logistic(Method method);
// The options of its logistic regression, of the kind the method has.
[[nodiscard]] LogisticOptions logistic_of(const HeadConfiguration& configuration);

// What a method does to a row before its head sees it. `base_mean`: of simpleshot with cl2n.
[[nodiscard]] Preparation preparation_of(const HeadConfiguration& configuration,
                                         std::vector<double> base_mean);

// Throws a data or usage error when the store or the split cannot serve the method.
void check_head(const FeatureStore& store, const std::string& split,
                const HeadConfiguration& configuration);

// Accuracy in percent for each episode, the head fitted anew on the support of each.
[[nodiscard]] std::vector<double> evaluate_head(const Arena& arena,
                                                const HeadConfiguration& configuration,
                                                const ScoreSink& scores = {},
                                                const Progress& progress = {});

}  // namespace deepvoro
