#pragma once

#include <filesystem>

namespace deepvoro::serve {

// A folder for files that are made to be sent, which nobody else can read. Gone at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  // A name in it that was not there before.
  [[nodiscard]] std::filesystem::path new_file() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace deepvoro::serve
