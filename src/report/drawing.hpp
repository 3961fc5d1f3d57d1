#pragma once

#include <string>

namespace deepvoro {

// An element <svg> of the class panel, of this many pixels.
struct Drawing {
  std::string svg;
  double width = 0;
  double height = 0;
};

}  // namespace deepvoro
