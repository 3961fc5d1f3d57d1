// expected: no matching function|cannot convert|could not convert|no viable conversion|too many
// arguments
#include "ensemble/selection.hpp"

deepvoro::ValidationRanking rank(const deepvoro::FeatureStore& store, const deepvoro::Pool& pool) {
  const deepvoro::EpisodePlan plan;
#ifdef DEEPVORO_MUST_NOT_COMPILE
  return deepvoro::ValidationRanking::measure(store, "novel", pool, plan, deepvoro::Influence(1),
                                              1);
#else
  return deepvoro::ValidationRanking::measure(store, pool, plan, deepvoro::Influence(1), 1);
#endif
}
