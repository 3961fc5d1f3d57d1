#pragma once

#include <string>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

// Why a project does not do what it is asked for.
enum class Refusal {
  invalid,  // it cannot be
  missing,  // what it is about is not there
  busy,     // too much is waiting; later it may be done
  storage,  // the disk is full or cannot be written
};

class ProjectError : public Error {
 public:
  ProjectError(Refusal refusal, const std::string& what)
      : Error(refusal == Refusal::invalid ? ErrorKind::usage : ErrorKind::data, what),
        refusal_(refusal) {}
  [[nodiscard]] Refusal refusal() const noexcept { return refusal_; }

 private:
  Refusal refusal_;
};

}  // namespace deepvoro
