// expected: GreedyEnsemble
#include "ensemble/selection.hpp"

deepvoro::Selection greedy(const deepvoro::GreedyEnsemble& ensemble) {
#ifdef DEEPVORO_MUST_NOT_COMPILE
  return deepvoro::Selection::greedy(deepvoro::GreedyEnsemble{});
#else
  return deepvoro::Selection::greedy(ensemble);
#endif
}
