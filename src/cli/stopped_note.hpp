#pragma once

#include <string>

namespace deepvoro {

// While it lives, Ctrl-C says on stderr that the same command goes on from a file, if that is there
// by then, and ends the program as it would have anyway. One at a time.
class StoppedNote {
 public:
  explicit StoppedNote(const std::string& file);
  StoppedNote(const StoppedNote&) = delete;
  StoppedNote& operator=(const StoppedNote&) = delete;
  ~StoppedNote();

 private:
  void (*before_)(int);
};

}  // namespace deepvoro
