#pragma once

#include "deepvoro/kernels/head_kernels.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro::kernels {

extern const Table generic_table;
extern const Table avx2_table;
extern const Table avx512_table;

extern const HeadTable generic_head_table;
extern const HeadTable avx2_head_table;
extern const HeadTable avx512_head_table;

}  // namespace deepvoro::kernels
