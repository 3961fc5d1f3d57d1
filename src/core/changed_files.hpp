#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace deepvoro {

// A mapped file that is cut short by somebody else has pages without contents, and whoever reads
// one gets a SIGBUS. Here such a page becomes zeros, and the file is remembered: everything that
// was computed since is void, which must be said before it reaches a file or a user.

// Guards a mapping, named by a path that outlives it. As many as there is room for are guarded,
// which is enough for all files of a store at once.
class MappingGuard {
 public:
  MappingGuard();
  MappingGuard(std::span<const std::byte> mapping, const std::filesystem::path& path);
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;
  MappingGuard(MappingGuard&& other) noexcept;
  MappingGuard& operator=(MappingGuard&& other) noexcept;
  ~MappingGuard();

 private:
  std::size_t slot_;
};

// Remembers a file that was found to have changed in another way.
void remember_changed_file(const std::filesystem::path& path);

// Throws a data error that names the first file that changed while it was read, once.
void throw_if_files_changed();

}  // namespace deepvoro
