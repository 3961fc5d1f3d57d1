#include "deepvoro/geometry/geometry.hpp"

#include <fmt/format.h>

namespace deepvoro {

std::string Geometry::id() const {
  std::string text(name());
  const std::vector<double> of_parameters = values();
  for (std::size_t i = 0; i < of_parameters.size(); ++i)
    text += fmt::format("_{}{}", parameters()[i].name, of_parameters[i]);
  return text;
}

}  // namespace deepvoro
