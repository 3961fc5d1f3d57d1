#include <array>
#include <deepvoro/core/version.hpp>
#include <deepvoro/geometry/diagram.hpp>
#include <iostream>

int main() {
  const std::array<double, 6> centers{0, 0, 3, 4, -5, 0};
  const deepvoro::VoronoiDiagram diagram(deepvoro::MatrixView<const double>(centers.data(), 3, 2));
  const std::array<double, 2> query{2, 3};
  std::cout << "cell " << diagram.cell(query) << " of deepvoro " << deepvoro::version() << '\n';
}
