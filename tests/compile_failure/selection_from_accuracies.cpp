// expected: no matching function|no matching conversion
#include <vector>

#include "ensemble/selection.hpp"

deepvoro::Selection best_of(const deepvoro::Pool& pool, const std::vector<double>& on_novel) {
#ifdef DEEPVORO_MUST_NOT_COMPILE
  return deepvoro::Selection(pool, on_novel);
#else
  (void)on_novel;
  return deepvoro::Selection::full(pool);
#endif
}
