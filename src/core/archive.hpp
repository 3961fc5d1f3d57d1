#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct archive;

namespace deepvoro {

// The regular files of a .tar, .tar.gz (.bz2, .xz, .zst) or .zip, one after the other, read by
// libarchive. Folders, links and devices are passed over. What is damaged, or ends too early, is a
// data error that begins with `where`.
class ArchiveReader {
 public:
  // `file` must stay alive.
  ArchiveReader(std::span<const std::byte> file, std::string where);

  // The path of the next file, as the archive has it. None at the end.
  [[nodiscard]] std::optional<std::string> next();
  // How large that file says it is; none where it does not.
  [[nodiscard]] std::optional<std::size_t> size() const { return size_; }

  // Paths of folders that were passed over so far, as the archive has them.
  [[nodiscard]] const std::vector<std::string>& folders() const { return folders_; }

  // What the file holds. Where it lies in the archive as it is, and not compressed, this is that
  // place, and `unpacked` stays empty. Otherwise it is unpacked, up to `limit` bytes; more is a
  // data error.
  struct Content {
    std::span<const std::byte> in_place = {};
    std::vector<std::byte> unpacked = {};
  };
  [[nodiscard]] Content content(std::size_t limit);

 private:
  struct Close {
    void operator()(archive* handle) const;
  };
  [[noreturn]] void fail_damaged() const;
  void check_end() const;
  [[nodiscard]] bool is_within_file(std::span<const std::byte> bytes) const;

  std::span<const std::byte> file_;
  std::string where_;
  std::unique_ptr<archive, Close> archive_;
  std::vector<std::string> folders_;
  std::optional<std::size_t> size_;
};

}  // namespace deepvoro
