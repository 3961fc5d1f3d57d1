#include "deepvoro/heads/prototypes.hpp"

#include <algorithm>

namespace deepvoro {

template <class Real>
void mean_of_rows(MatrixView<const Real> rows, std::span<const std::uint32_t> which,
                  std::vector<double>& sum, Real* out) {
  const std::size_t length = rows.stride();
  if (which.size() == 1) {
    std::copy_n(rows.row(which[0]), length, out);
    return;
  }
  sum.assign(length, 0.0);
  for (const std::uint32_t index : which) {
    const Real* row = rows.row(index);
    for (std::size_t i = 0; i < length; ++i) sum[i] += static_cast<double>(row[i]);
  }
  const auto count = static_cast<double>(which.size());
  for (std::size_t i = 0; i < length; ++i) out[i] = static_cast<Real>(sum[i] / count);
}

template <class Real>
void PrototypeHead<Real>::fit(MatrixView<const Real> rows, std::span<const std::uint32_t> support) {
  const std::size_t ways = prototypes_.rows();
  const std::size_t shots = support.size() / ways;
  for (std::size_t k = 0; k < ways; ++k)
    mean_of_rows(rows, support.subspan(k * shots, shots), sum_, prototypes_.row(k));
}

template void mean_of_rows(MatrixView<const float>, std::span<const std::uint32_t>,
                           std::vector<double>&, float*);
template void mean_of_rows(MatrixView<const double>, std::span<const std::uint32_t>,
                           std::vector<double>&, double*);
template class PrototypeHead<float>;
template class PrototypeHead<double>;

}  // namespace deepvoro
