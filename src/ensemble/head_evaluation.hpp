#pragma once

#include <string>
#include <vector>

#include "deepvoro/ensemble/head_configuration.hpp"
#include "ensemble/ensemble.hpp"
#include "heads/preparation.hpp"

namespace deepvoro {

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
[[nodiscard]] std::vector<double> evaluate_head(const EpisodeSetting& setting,
                                                const HeadConfiguration& configuration,
                                                const ScoreSink& scores = {},
                                                const Progress& progress = {});

}  // namespace deepvoro
