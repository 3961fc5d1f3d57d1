#include "lanes_avx512.hpp"
// The bodies need the lanes above.
#include "body.hpp"
#include "heads_body.hpp"
#include "levels.hpp"
#include "matrices_body.hpp"
#include "networks_body.hpp"

namespace deepvoro::kernels {

const Table avx512_table = make_table(Level::avx512);
const HeadTable avx512_head_table = make_head_table();
const MatrixTable avx512_matrix_table = make_matrix_table();
const NetworkTable avx512_network_table = make_network_table();

}  // namespace deepvoro::kernels
