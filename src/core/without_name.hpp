#pragma once

#include <string>

namespace deepvoro {

// A reason names its picture first; where the name is known, that is once too often.
[[nodiscard]] inline std::string without_name(const std::string& reason, const std::string& name) {
  return reason.starts_with(name + ": ") ? reason.substr(name.size() + 2) : reason;
}

}  // namespace deepvoro
