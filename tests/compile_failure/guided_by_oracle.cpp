// expected: ValidationRanking
#include "ensemble/selection.hpp"

deepvoro::Selection guided(const deepvoro::Oracle& oracle,
                           const deepvoro::ValidationRanking& ranking) {
#ifdef DEEPVORO_MUST_NOT_COMPILE
  return deepvoro::Selection::guided(oracle);
#else
  (void)oracle;
  return deepvoro::Selection::guided(ranking);
#endif
}
