#pragma once

#include <optional>
#include <string>
#include <utility>

#include "deepvoro/core/progress.hpp"

namespace deepvoro {

// A progress bar with the time left, on stderr when that is a terminal; otherwise nothing. The bar
// is wiped when the object goes.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  // Empty where there is nobody to show it to.
  [[nodiscard]] Progress callback();

  // Shown after the time left from now on.
  void set_note(std::string note) { note_ = std::move(note); }

 private:
  // Where work began: an earlier run may have done a part of it.
  struct Start {
    double seconds;
    double fraction;
  };

  void show(double fraction);

  std::string label_;
  std::string note_;
  bool on_terminal_;
  bool shown_ = false;
  std::optional<Start> start_;
  double last_shown_ = 0;
};

}  // namespace deepvoro
