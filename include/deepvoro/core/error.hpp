#pragma once

#include <stdexcept>
#include <string>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// The three things that can go wrong, and so the three exit codes of the program.
enum class ErrorKind {
  usage,     // the caller asked for something that cannot be
  data,      // a file is missing, damaged or does not fit
  internal,  // a bug of ours
};

// What a caller may want to do something about, so that nobody has to read it off a text.
enum class ErrorCode {
  none,
  missing_file,       // it is not there
  damaged_file,       // its hash does not fit, or it cannot be parsed
  bad_picture,        // not a picture, damaged, or of a kind that cannot be decoded
  missing_network,    // a backbone that is not installed, or a library that runs it
  missing_class,      // no class of this name
  negative_features,  // which have no logarithms or fractional powers; signed ones do
};

// Every error the library throws. The text is one line: what is wrong, where, and what to do. It
// names options by the fields of the library's structs, in backquotes: `top_k`.
class DEEPVORO_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what, ErrorCode code = ErrorCode::none)
      : std::runtime_error(what), kind_(kind), code_(code) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorKind kind_;
  ErrorCode code_;
};

[[nodiscard]] inline Error usage_error(const std::string& what) {
  return {ErrorKind::usage, what};
}
[[nodiscard]] inline Error data_error(const std::string& what, ErrorCode code = ErrorCode::none) {
  return {ErrorKind::data, what, code};
}
[[nodiscard]] inline Error internal_error(const std::string& what) {
  return {ErrorKind::internal, what};
}

}  // namespace deepvoro
