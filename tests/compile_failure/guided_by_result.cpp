// expected: ValidationRanking
#include "deepvoro/study/evaluate.hpp"
#include "ensemble/selection.hpp"

deepvoro::Selection guided(const deepvoro::EvaluationResult& on_novel,
                           const deepvoro::ValidationRanking& ranking) {
#ifdef DEEPVORO_MUST_NOT_COMPILE
  return deepvoro::Selection::guided(on_novel);
#else
  (void)on_novel;
  return deepvoro::Selection::guided(ranking);
#endif
}
