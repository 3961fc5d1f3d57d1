#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace deepvoro {

// A file mapped read-only into memory; the mapping lives as long as the object.
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
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

// A file that appears under its name whole or not at all: it is written under a temporary name in
// the same folder and renamed by commit(). Without commit() the temporary file is removed. What is
// no regular file, such as a pipe or a terminal, is written directly.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail(const char* doing) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: written directly, or done
  std::ofstream stream_;
};

// A small text file read whole; a file above `limit` bytes is refused.
[[nodiscard]] std::string read_text(const std::filesystem::path& path,
                                    std::size_t limit = std::size_t{256} << 20);

}  // namespace deepvoro
