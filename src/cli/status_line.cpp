#include "status_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace deepvoro {

StatusLine::StatusLine(const std::string& text) : shown_(::isatty(STDERR_FILENO) != 0) {
  if (!shown_) return;
  std::fputs(fmt::format("{} ...", text).c_str(), stderr);
  std::fflush(stderr);
}

StatusLine::~StatusLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

}  // namespace deepvoro
