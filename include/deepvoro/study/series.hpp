#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/study/evaluate.hpp"

namespace deepvoro {

// Several methods at several numbers of shots, on the same episodes. Options that belong to some
// methods only are none unless they were asked for.
struct DEEPVORO_API EvaluationSeries {
  std::vector<std::string> methods;
  std::vector<std::size_t> shots{1};
  Evaluation common = {};  // everything else
  std::optional<LogisticKind> lr = {};
  std::optional<Normalisation> normalisation = {};
  std::optional<std::size_t> epochs = {};
  std::optional<double> weight_decay = {};
  std::optional<LogisticStart> start = {};
  bool sigmoid = false;

  // For each number of shots every method. Throws a usage error when parts contradict each other,
  // or when no method listens to an option.
  [[nodiscard]] std::vector<Evaluation> evaluations() const;

 private:
  void check_options_have_a_method() const;
};

}  // namespace deepvoro
