#include "levels.hpp"

namespace deepvoro::kernels {

const MatrixTable& matrix_table(Level level) {
  switch (level) {
#ifdef DEEPVORO_X86_KERNELS
    case Level::avx2:
      return avx2_matrix_table;
    case Level::avx512:
      return avx512_matrix_table;
#endif
#ifdef DEEPVORO_ARM_KERNELS
    case Level::neon:
      return neon_matrix_table;
#endif
    default:
      return generic_matrix_table;
  }
}

const MatrixTable& matrix_kernels() {
  return matrix_table(active().level);
}

}  // namespace deepvoro::kernels
