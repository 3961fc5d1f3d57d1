#pragma once

#include <stdexcept>
#include <string>

namespace deepvoro {

// The three things that can go wrong, and so the three exit codes of the program.
enum class ErrorKind {
  usage,     // the caller asked for something that cannot be
  data,      // a file is missing, damaged or does not fit
  internal,  // a bug of ours
};

// Every error the library throws. The text is one line: what is wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

[[nodiscard]] inline Error usage_error(const std::string& what) {
  return {ErrorKind::usage, what};
}
[[nodiscard]] inline Error data_error(const std::string& what) {
  return {ErrorKind::data, what};
}
[[nodiscard]] inline Error internal_error(const std::string& what) {
  return {ErrorKind::internal, what};
}

}  // namespace deepvoro
