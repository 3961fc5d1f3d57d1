// expected: has no member named|no member named
#include "deepvoro/study/tune.hpp"

void choose(deepvoro::Tuning& tuning) {
#ifdef DEEPVORO_MUST_NOT_COMPILE
  tuning.split = "novel";
#else
  tuning.method = deepvoro::Method::deepvoro;
#endif
}
