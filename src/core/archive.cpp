#include "archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <locale.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kTarBlock = 512;

// libarchive converts names to the character set of the locale; in a plain C locale it would lose
// all letters but English ones.
class Utf8Names {
 public:
  Utf8Names() : utf8_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr) before_ = ::uselocale(utf8_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;
  ~Utf8Names() {
    if (utf8_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(utf8_);
  }

 private:
  ::locale_t utf8_;
  ::locale_t before_ = nullptr;
};

}  // namespace

void ArchiveReader::Close::operator()(archive* handle) const {
  ::archive_read_free(handle);
}

ArchiveReader::ArchiveReader(std::span<const std::byte> file, std::string where)
    : file_(file), where_(std::move(where)) {
  const Utf8Names names;
  archive_.reset(::archive_read_new());
  if (!archive_) throw internal_error("libarchive cannot start to read");
  // Those that run in this process; others of libarchive start programs.
  for (const auto support :
       {::archive_read_support_filter_gzip, ::archive_read_support_filter_bzip2,
        ::archive_read_support_filter_xz, ::archive_read_support_filter_zstd,
        ::archive_read_support_format_tar, ::archive_read_support_format_zip_seekable})
    if (support(archive_.get()) != ARCHIVE_OK)
      throw internal_error("this libarchive cannot read all that it should");
  if (::archive_read_open_memory(archive_.get(), file.data(), file.size()) != ARCHIVE_OK)
    fail_damaged();
}

std::optional<std::string> ArchiveReader::next() {
  const Utf8Names names;
  for (;;) {
    archive_entry* entry = nullptr;
    const int state = ::archive_read_next_header(archive_.get(), &entry);
    if (state == ARCHIVE_EOF) {
      check_end();
      return std::nullopt;
    }
    if (state != ARCHIVE_OK) fail_damaged();
    const char* path = ::archive_entry_pathname(entry);
    if (::archive_entry_filetype(entry) == AE_IFDIR && path != nullptr) folders_.emplace_back(path);
    if (::archive_entry_filetype(entry) != AE_IFREG || ::archive_entry_hardlink(entry) != nullptr)
      continue;
    if (path == nullptr)
      throw data_error(
          fmt::format("{}: has a name that is not UTF-8 text; rename the file and make "
                      "it again",
                      where_));
    const la_int64_t size = ::archive_entry_size(entry);
    const bool is_told = ::archive_entry_size_is_set(entry) != 0 && size >= 0;
    size_ = is_told ? std::optional(static_cast<std::size_t>(size)) : std::nullopt;
    return path;
  }
}

ArchiveReader::Content ArchiveReader::content(std::size_t limit) {
  Content content;
  for (;;) {
    const void* data = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int state = ::archive_read_data_block(archive_.get(), &data, &size, &offset);
    if (state == ARCHIVE_EOF) return content;
    if (state != ARCHIVE_OK) fail_damaged();
    if (size == 0) continue;
    const std::span block(static_cast<const std::byte*>(data), size);
    const std::size_t before = content.in_place.size() + content.unpacked.size();
    if (offset < 0 || static_cast<std::size_t>(offset) != before)
      throw data_error(fmt::format("{}: has files with holes; make it again without them", where_));
    const bool follows = before == 0 || block.data() == content.in_place.data() + before;
    if (content.unpacked.empty() && is_within_file(block) && follows) {
      content.in_place = {before == 0 ? block.data() : content.in_place.data(), before + size};
      continue;
    }
    if (size > limit || before > limit - size)
      throw data_error(fmt::format(
          "{}: is too large when unpacked; unpack it yourself and give the folder instead",
          where_));
    content.unpacked.insert(content.unpacked.end(), content.in_place.begin(),
                            content.in_place.end());
    content.in_place = {};
    content.unpacked.insert(content.unpacked.end(), block.begin(), block.end());
  }
}

bool ArchiveReader::is_within_file(std::span<const std::byte> bytes) const {
  const std::less_equal<> not_after;
  return not_after(file_.data(), bytes.data()) &&
         not_after(bytes.data() + bytes.size(), file_.data() + file_.size());
}

// A tar that was cut between two files looks whole to libarchive, but for the zeros at its end.
// What is compressed has checksums, and a .zip its directory there.
void ArchiveReader::check_end() const {
  const bool is_tar =
      (::archive_format(archive_.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
  const bool is_compressed = ::archive_filter_code(archive_.get(), 0) != ARCHIVE_FILTER_NONE;
  if (!is_tar || is_compressed) return;
  const auto end = file_.last(std::min(file_.size(), kTarBlock));
  if (end.size() < kTarBlock ||
      std::ranges::any_of(end, [](std::byte value) { return value != std::byte{0}; }))
    throw data_error(fmt::format("{}: is truncated; copy it again", where_));
}

void ArchiveReader::fail_damaged() const {
  const char* why = ::archive_error_string(archive_.get());
  if (why == nullptr) throw data_error(fmt::format("{}: is truncated; copy it again", where_));
  throw data_error(
      fmt::format("{}: is a damaged archive ({}); copy or make it again", where_, why));
}

}  // namespace deepvoro
