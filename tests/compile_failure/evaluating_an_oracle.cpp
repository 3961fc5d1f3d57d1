// expected: Selection
#include "ensemble/ensemble.hpp"

std::vector<double> evaluate(const deepvoro::Arena& arena, const deepvoro::Oracle& oracle,
                             const deepvoro::Selection& selection) {
#ifdef DEEPVORO_MUST_NOT_COMPILE
  return deepvoro::evaluate_ensemble(arena, oracle);
#else
  (void)oracle;
  return deepvoro::evaluate_ensemble(arena, selection);
#endif
}
