#pragma once

#include <string>

namespace deepvoro {

// What is being done, on stderr when that is a terminal; otherwise nothing. It is wiped when the
// object goes.
class StatusLine {
 public:
  explicit StatusLine(const std::string& text);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine();

 private:
  bool shown_;
};

}  // namespace deepvoro
