#pragma once

#include <filesystem>

#include "core/descriptor.hpp"

namespace deepvoro {

// The folder of a store to be made, which takes its final name when it is complete and is removed
// when it never is, at the latest when another of that name is made. Throws a usage error where the
// name is taken.
class NewStoreFolder {
 public:
  explicit NewStoreFolder(const std::filesystem::path& name);
  NewStoreFolder(const NewStoreFolder&) = delete;
  NewStoreFolder& operator=(const NewStoreFolder&) = delete;
  ~NewStoreFolder();

  // Where it is until then.
  [[nodiscard]] const std::filesystem::path& path() const { return temporary_; }

  void commit();

 private:
  std::filesystem::path final_;
  std::filesystem::path temporary_;
  Descriptor lock_;
};

}  // namespace deepvoro
