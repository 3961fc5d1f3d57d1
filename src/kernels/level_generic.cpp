#include "lanes_generic.hpp"
// The bodies need the lanes above.
#include "body.hpp"
#include "heads_body.hpp"
#include "levels.hpp"
#include "matrices_body.hpp"
#include "networks_body.hpp"

namespace deepvoro::kernels {

const Table generic_table = make_table(Level::generic);
const HeadTable generic_head_table = make_head_table();
const MatrixTable generic_matrix_table = make_matrix_table();
const NetworkTable generic_network_table = make_network_table();

}  // namespace deepvoro::kernels
