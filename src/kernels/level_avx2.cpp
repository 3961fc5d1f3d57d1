#include "lanes_avx2.hpp"
// The bodies need the lanes above.
#include "body.hpp"
#include "heads_body.hpp"
#include "levels.hpp"
#include "matrices_body.hpp"
#include "networks_body.hpp"

namespace deepvoro::kernels {

const Table avx2_table = make_table(Level::avx2);
const HeadTable avx2_head_table = make_head_table();
const MatrixTable avx2_matrix_table = make_matrix_table();
const NetworkTable avx2_network_table = make_network_table();

}  // namespace deepvoro::kernels
