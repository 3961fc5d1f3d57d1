// Takes the place of src/core/files.cpp in programs that fuzz: what is read lies in memory, what is
// written is lost. Nothing else of the library opens files to read them.
#include <fmt/format.h>
#include <stdlib.h>

#include <fstream>
#include <map>
#include <utility>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "harness.hpp"

namespace deepvoro {
namespace {

// By name as text, which is compared sooner than paths are.
std::map<std::string, fuzz::Bytes>& contents() {
  static std::map<std::string, fuzz::Bytes> files;
  return files;
}

// Some readers ask whether a file is there: each is, empty.
class Folder {
 public:
  Folder() : name_((std::filesystem::temp_directory_path() / "deepvoro-fuzz-XXXXXX").string()) {
    if (::mkdtemp(name_.data()) == nullptr) throw internal_error("no folder for files");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(name_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& file(const std::string& name) {
    const auto [found, is_new] = files_.try_emplace(name);
    if (is_new) {
      found->second = std::filesystem::path(name_) / name;
      std::filesystem::create_directories(found->second.parent_path());
      std::ofstream made(found->second);
    }
    return found->second;
  }

 private:
  std::string name_;
  std::map<std::string, std::filesystem::path> files_;
};

}  // namespace

namespace fuzz {

std::filesystem::path file_with(Bytes bytes, const std::string& name) {
  static Folder folder;
  const std::filesystem::path& path = folder.file(name);
  contents()[path.native()] = bytes;
  return path;
}

}  // namespace fuzz

MappedFile::MappedFile(const std::filesystem::path& path)
    : path_(std::make_unique<const std::filesystem::path>(path)) {
  const auto found = contents().find(path.native());
  if (found == contents().end())
    throw data_error(fmt::format("{}: cannot be read", path.string()), ErrorCode::missing_file);
  bytes_ = found->second;
}
MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      bytes_(std::exchange(other.bytes_, {})),
      written_(other.written_) {}
MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
MappedFile::~MappedFile() = default;
bool MappedFile::has_changed() const {
  return false;
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {}
AtomicFile::~AtomicFile() = default;
void AtomicFile::write(std::span<const std::byte> /*bytes*/) {}
void AtomicFile::write(std::string_view /*text*/) {}
void AtomicFile::commit() {}

const char* writing_advice(int /*error*/) {
  return "";
}

std::string read_text(const std::filesystem::path& path, std::size_t limit) {
  const MappedFile file(path);
  if (file.bytes().size() > limit) throw data_error(path.string() + ": is too large");
  return fuzz::text_of(file.bytes());
}

}  // namespace deepvoro
