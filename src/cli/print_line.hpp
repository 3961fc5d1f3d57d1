#pragma once

#include <fmt/format.h>

#include <string>

#include "core/text.hpp"

namespace deepvoro {

// A row of a table, without the spaces that fill up its last columns, and without the control
// characters of names in it.
inline void print_line(const std::string& row) {
  fmt::print("{}\n", as_text_line(row.substr(0, row.find_last_not_of(' ') + 1)));
}

}  // namespace deepvoro
