#include "deepvoro/heads/prototypes.hpp"

#include <vector>

namespace deepvoro {

template <class Real>
void fit_prototype(MatrixView<const Real> rows, std::span<const std::uint32_t> support,
                   std::vector<const Real*>& scratch, Real* out) {
  scratch.clear();
  for (const std::uint32_t row : support) scratch.push_back(rows.row(row));
  kernels::mean(kernels::active(), scratch.data(), scratch.size(), rows.stride(), out);
}

template void fit_prototype(MatrixView<const float>, std::span<const std::uint32_t>,
                            std::vector<const float*>&, float*);
template void fit_prototype(MatrixView<const double>, std::span<const std::uint32_t>,
                            std::vector<const double*>&, double*);

}  // namespace deepvoro
