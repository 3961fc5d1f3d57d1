#include "progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

namespace deepvoro {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string duration(double seconds) {
  const long whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), on_terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

Progress ProgressBar::callback() {
  if (!on_terminal_) return {};
  return [this](double fraction) { show(fraction); };
}

void ProgressBar::show(double fraction) {
  constexpr double interval = 0.1;
  constexpr int width = 30;
  const double now = now_seconds();
  if (!start_) start_ = {now, fraction};
  if (now - last_shown_ < interval || fraction <= 0) return;
  last_shown_ = now;
  shown_ = true;
  const double done = fraction - start_->fraction;
  const std::string left =
      done > 0 ? fmt::format(", {} left", duration((now - start_->seconds) * (1 - fraction) / done))
               : "";
  const auto filled = static_cast<int>(fraction * width);
  const std::string line =
      fmt::format("\r\033[K{} [{:=<{}}{: <{}}] {:3.0f}%{}{}{}", label_, "", filled, "",
                  width - filled, 100 * fraction, left, note_.empty() ? "" : ", ", note_);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace deepvoro
