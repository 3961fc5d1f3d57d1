#pragma once

#include <filesystem>
#include <functional>

#include "core/descriptor.hpp"

namespace deepvoro {

// Keeps others who ask for it from changing a file, which may be replaced while it is held. Waits
// for those who came before; `waiting` is told first. A file that cannot be opened is not locked:
// whoever reads it finds out.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& file,
                    const std::function<void()>& waiting = nullptr);

 private:
  Descriptor held_;
};

}  // namespace deepvoro
