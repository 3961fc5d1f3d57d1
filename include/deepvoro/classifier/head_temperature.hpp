#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/matrix_view.hpp"
#include "deepvoro/ensemble/head_configuration.hpp"

namespace deepvoro {

// The temperature whose softmax of a FittedHead's scores are probabilities: the one under which
// rows are most likely that are left out a fifth at a time, drawn towards a usual one; that one
// where no class has two rows. Arguments as those of FittedHead.
[[nodiscard]] DEEPVORO_API double head_temperature(const HeadConfiguration& configuration,
                                                   MatrixView<const float> rows,
                                                   std::span<const std::size_t> labels,
                                                   std::size_t classes,
                                                   const std::vector<double>& base_mean = {},
                                                   unsigned threads = 1);

}  // namespace deepvoro
