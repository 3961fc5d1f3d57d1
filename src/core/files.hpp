#pragma once

#include <sys/types.h>
#include <cstddef>

#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/changed_files.hpp"
#include "core/descriptor.hpp"

namespace deepvoro {

// A file mapped read-only into memory; the mapping lives as long as the object. One that changes
// meanwhile is a data error at the end of the next parallel loop or of a file that is written.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::filesystem::path path() const {
    return path_ == nullptr ? std::filesystem::path() : *path_;
  }

 private:
  [[nodiscard]] bool has_changed() const;

  std::unique_ptr<const std::filesystem::path> path_;  // stays where it is when this is moved
  std::span<const std::byte> bytes_;
  std::pair<dev_t, ino_t> file_{};
  timespec written_{};
  MappingGuard guard_;
};

// What a file outlives once it is written. Files that can be told to be damaged and made again need
// not wait for the disk.
enum class Durability { loss_of_power, end_of_process };

// A file that appears under its name whole or not at all: it is written under a temporary name in
// the same folder and renamed by commit(). Without commit() the temporary file is removed, at the
// latest when the same file is written again. What is no regular file, such as a pipe or a
// terminal, is written directly.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit(Durability durability = Durability::loss_of_power);

 private:
  void flush();
  void write_now(std::span<const std::byte> bytes);
  [[noreturn]] void fail(const char* doing) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: written directly, or done
  Descriptor file_;
  std::vector<std::byte> waiting_;  // to be written with what comes next
};

// What a user can do about an errno of writing; begins with "; " unless empty.
[[nodiscard]] const char* writing_advice(int error);

// A small text file read whole; a file above `limit` bytes is refused.
[[nodiscard]] std::string read_text(const std::filesystem::path& path,
                                    std::size_t limit = std::size_t{256} << 20);

}  // namespace deepvoro
