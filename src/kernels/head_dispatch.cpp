#include "levels.hpp"

namespace deepvoro::kernels {

const HeadTable& head_table(Level level) {
  switch (level) {
#ifdef DEEPVORO_X86_KERNELS
    case Level::avx2:
      return avx2_head_table;
    case Level::avx512:
      return avx512_head_table;
#endif
#ifdef DEEPVORO_ARM_KERNELS
    case Level::neon:
      return neon_head_table;
#endif
    default:
      return generic_head_table;
  }
}

const HeadTable& head_kernels() {
  return head_table(active().level);
}

}  // namespace deepvoro::kernels
