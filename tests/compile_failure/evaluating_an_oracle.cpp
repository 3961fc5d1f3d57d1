// expected: Selection
#include "ensemble/ensemble.hpp"

std::vector<double> evaluate(const deepvoro::EpisodeSetting& setting,
                             const deepvoro::Oracle& oracle, const deepvoro::Selection& selection) {
#ifdef DEEPVORO_MUST_NOT_COMPILE
  return deepvoro::evaluate_ensemble(setting, oracle);
#else
  (void)oracle;
  return deepvoro::evaluate_ensemble(setting, selection);
#endif
}
