#include "lanes_avx512.hpp"
// The body needs the lanes above.
#include "body.hpp"
#include "levels.hpp"

namespace deepvoro::kernels {

const Table avx512_table = make_table(Level::avx512);

}  // namespace deepvoro::kernels
