// expected: private
#include "ensemble/selection.hpp"

deepvoro::ValidationRanking without_validation(const deepvoro::ValidationRanking& measured) {
#ifdef DEEPVORO_MUST_NOT_COMPILE
  return deepvoro::ValidationRanking();
#else
  return measured;
#endif
}
