#include <array>
#include <deepvoro/deepvoro.hpp>
#include <iostream>

// Each row of the support is nearest to itself. A geometry made here is what the library takes it
// for.
int main() {
  const std::array<float, 6> rows{1, 2, 3, 4, 9, 1};
  const std::array<std::size_t, 3> labels{0, 1, 2};
  const deepvoro::ViewedSamples support{
      .views = {"view"}, .rows = {{rows.data(), 3, 2}}, .labels = labels, .classes = 3};
  const deepvoro::FittedEnsemble ensemble(
      deepvoro::default_pool(deepvoro::Method::deepvoro, support.views), support);
  int right = 0;
  for (std::size_t r = 0; r < 3; ++r) {
    std::array<double, 3> influence{};
    const std::array query{support.rows[0][r]};
    ensemble.influence(query, influence);
    right += deepvoro::cell_of(influence) == r ? 1 : 0;
  }
  const deepvoro::Geometry own = deepvoro::Plda{};
  if (!(own == deepvoro::default_pool(deepvoro::Method::plda, support.views)[0].geometry)) return 1;
  try {
    (void)deepvoro::method_named("none");
    return 1;
  } catch (const deepvoro::Error& error) {
    if (error.kind() != deepvoro::ErrorKind::usage) return 1;
  }
  std::cout << 100 * right / 3 << " percent by deepvoro " << deepvoro::version() << '\n';
}
