#pragma once

#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro::kernels {

extern const Table generic_table;
extern const Table avx2_table;
extern const Table avx512_table;

}  // namespace deepvoro::kernels
