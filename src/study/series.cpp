#include "deepvoro/study/series.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

std::vector<Evaluation> EvaluationSeries::evaluations() const {
  if (methods.size() > 1 && common.pool)
    throw usage_error("`pool` replaces the members of a method; give one `method` with it");
  const bool some_have_members = std::ranges::any_of(
      methods, [](const std::string& method) { return is_ensemble(method_named(method)); });
  std::vector<Evaluation> all;
  for (const std::size_t of_shots : shots)
    for (const std::string& method : methods) {
      Evaluation one = common;
      one.method = method_named(method);
      one.plan.shape.shots = of_shots;
      // Scheme and device are meant for the others.
      if (some_have_members && !is_ensemble(one.method)) {
        one.scheme = Scheme::full;
        one.size.reset();
        one.oracle = false;
        one.device = "cpu";
      }
      if (one.method != Method::deepvoro && one.method != Method::deepvoro_plus_plus)
        one.preset.reset();
      if (!is_ensemble(one.method) || one.method == Method::vd) one.release_views = false;
      if (lr) one.logistic.kind = *lr;
      if (normalisation) one.normalisation = *normalisation;
      if (epochs) one.logistic.epochs = *epochs;
      if (weight_decay) one.logistic.weight_decay = *weight_decay;
      if (start) one.logistic.start = *start;
      if (sigmoid) one.logistic.sigmoid = true;
      check(one);
      all.push_back(one);
    }
  check_options_have_a_method();
  return all;
}

// An option that no method listens to was meant for another one.
void EvaluationSeries::check_options_have_a_method() const {
  const auto listens = [&](bool given, const char* option,
                           std::initializer_list<std::string_view> takers) {
    const bool taken = std::ranges::any_of(methods, [&](const std::string& method) {
      return std::ranges::find(takers, method) != takers.end();
    });
    if (given && !taken)
      throw usage_error(fmt::format("{} works only with {}", option, fmt::join(takers, ", ")));
  };
  listens(lr.has_value(), "`lr`", {"deepvoro--"});
  listens(normalisation.has_value(), "`normalisation`", {"simpleshot"});
  const std::initializer_list<std::string_view> logistic = {"power-lr", "voronoi-lr", "deepvoro--"};
  listens(epochs.has_value(), "`epochs`", logistic);
  listens(weight_decay.has_value(), "`weight_decay`", logistic);
  listens(start.has_value(), "`start`", logistic);
  listens(sigmoid, "`sigmoid`", logistic);
  listens(common.preset.has_value(), "`preset`", {"deepvoro", "deepvoro++"});
  listens(common.release_views, "`views`", {"deepvoro", "deepvoro++", "plda"});
  listens(common.alpha != 1, "`alpha`", {"vd", "deepvoro--", "deepvoro", "deepvoro++", "plda"});
}

}  // namespace deepvoro
