#pragma once

#include <string>

namespace deepvoro {

// While it lives, Ctrl-C says on stderr what is left of the work, and ends the program as it would
// have anyway. One at a time.
class StoppedNote {
 public:
  // Nothing is left of it.
  StoppedNote();
  // The same command goes on from a file; nothing is said where that is not there by then.
  explicit StoppedNote(const std::string& file);
  StoppedNote(const StoppedNote&) = delete;
  StoppedNote& operator=(const StoppedNote&) = delete;
  ~StoppedNote();

 private:
  void (*before_)(int);
};

}  // namespace deepvoro
