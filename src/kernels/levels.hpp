#pragma once

#include "kernels/head_kernels.hpp"
#include "kernels/kernels.hpp"
#include "kernels/matrix_kernels.hpp"
#include "kernels/network_kernels.hpp"

namespace deepvoro::kernels {

extern const Table generic_table;
extern const Table avx2_table;
extern const Table avx512_table;
extern const Table neon_table;

extern const HeadTable generic_head_table;
extern const HeadTable avx2_head_table;
extern const HeadTable avx512_head_table;
extern const HeadTable neon_head_table;

extern const MatrixTable generic_matrix_table;
extern const MatrixTable avx2_matrix_table;
extern const MatrixTable avx512_matrix_table;
extern const MatrixTable neon_matrix_table;

extern const NetworkTable generic_network_table;
extern const NetworkTable avx2_network_table;
extern const NetworkTable avx512_network_table;
extern const NetworkTable neon_network_table;

}  // namespace deepvoro::kernels
