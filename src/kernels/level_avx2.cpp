#include "lanes_avx2.hpp"
// The body needs the lanes above.
#include "body.hpp"
#include "levels.hpp"

namespace deepvoro::kernels {

const Table avx2_table = make_table(Level::avx2);

}  // namespace deepvoro::kernels
