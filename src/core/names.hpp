#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <string>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

// Names of an enum's values, in their order.
template <std::size_t count>
using Names = std::array<const char*, count>;

// The value with this name. `complaint` is the usage error where there is none; it is given the
// name and, should it want them, all names there are.
template <class Enum, std::size_t count>
[[nodiscard]] Enum value_named(
    const std::string& name, const Names<count>& names,
    fmt::format_string<const std::string&, const std::string&> complaint) {
  for (std::size_t i = 0; i < count; ++i)
    if (name == names[i]) return static_cast<Enum>(i);
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  throw usage_error(fmt::format(complaint, name, all));
}

template <class Enum, std::size_t count>
[[nodiscard]] const char* name_of(Enum value, const Names<count>& names) {
  return names.at(static_cast<std::size_t>(value));
}

}  // namespace deepvoro
