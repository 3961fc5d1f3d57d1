#pragma once

#include <filesystem>

#include "core/descriptor.hpp"

namespace deepvoro::serve {

// A folder for files that are made to be sent, which nobody else can read. Gone at the end; what a
// killed server left is removed by the next.
class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  // A name in it that was not there before.
  [[nodiscard]] std::filesystem::path new_file() const;

 private:
  std::filesystem::path folder_;
  Descriptor lock_;
};

}  // namespace deepvoro::serve
