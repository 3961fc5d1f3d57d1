#include "lanes_neon.hpp"
// The bodies need the lanes above.
#include "body.hpp"
#include "heads_body.hpp"
#include "levels.hpp"
#include "matrices_body.hpp"
#include "networks_body.hpp"

namespace deepvoro::kernels {

const Table neon_table = make_table(Level::neon);
const HeadTable neon_head_table = make_head_table();
const MatrixTable neon_matrix_table = make_matrix_table();
const NetworkTable neon_network_table = make_network_table();

}  // namespace deepvoro::kernels
