#pragma once

#include <fmt/format.h>

#include <string>

namespace deepvoro {

// A row of a table, without the spaces that fill up its last columns.
inline void print_line(const std::string& row) {
  fmt::print("{}\n", row.substr(0, row.find_last_not_of(' ') + 1));
}

}  // namespace deepvoro
