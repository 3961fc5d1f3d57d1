// expected: private
#include "ensemble/selection.hpp"

deepvoro::Selection without_a_scheme(const deepvoro::Pool& pool) {
#ifdef DEEPVORO_MUST_NOT_COMPILE
  return deepvoro::Selection(pool);
#else
  return deepvoro::Selection::full(pool);
#endif
}
