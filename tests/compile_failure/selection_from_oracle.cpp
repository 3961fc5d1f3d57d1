// expected: no matching function|no matching conversion
#include "ensemble/selection.hpp"

deepvoro::Selection of_the_oracle(const deepvoro::Oracle& oracle,
                                  const deepvoro::ValidationRanking& ranking) {
#ifdef DEEPVORO_MUST_NOT_COMPILE
  return deepvoro::Selection(oracle);
#else
  (void)oracle;
  return deepvoro::Selection::guided(ranking);
#endif
}
