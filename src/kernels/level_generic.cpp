#include "lanes_generic.hpp"
// The body needs the lanes above.
#include "body.hpp"
#include "levels.hpp"

namespace deepvoro::kernels {

const Table generic_table = make_table(Level::generic);

}  // namespace deepvoro::kernels
