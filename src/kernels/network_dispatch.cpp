#include "levels.hpp"

namespace deepvoro::kernels {

const NetworkTable& network_table(Level level) {
  switch (level) {
#ifdef DEEPVORO_X86_KERNELS
    case Level::avx2:
      return avx2_network_table;
    case Level::avx512:
      return avx512_network_table;
#endif
#ifdef DEEPVORO_ARM_KERNELS
    case Level::neon:
      return neon_network_table;
#endif
    default:
      return generic_network_table;
  }
}

const NetworkTable& network_kernels() {
  return network_table(active().level);
}

}  // namespace deepvoro::kernels
