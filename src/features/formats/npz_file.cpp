#include "npz_file.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>

#include "core/files.hpp"
#include "core/trusted_files.hpp"
#include "deepvoro/core/error.hpp"
#include "npy_file.hpp"
#include "text_array.hpp"

namespace deepvoro {
namespace {

constexpr std::string_view kArrayEnding = ".npy";

struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

std::string entry_name(const std::string& name) {
  return name + std::string(kArrayEnding);
}

std::string archive_error(zip_t* archive) {
  return zip_error_strerror(zip_get_error(archive));
}

// What libzip says went wrong.
class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  ~ZipError() { zip_error_fini(&error_); }
  [[nodiscard]] zip_error_t* get() { return &error_; }
  [[nodiscard]] std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_{};
};

void check_entry(const zip_stat_t& entry, std::uint64_t file_bytes, const std::string& where) {
  constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  const bool known = (entry.valid & needed) == needed;
  if (!known || (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE))
    throw data_error(fmt::format(
        "{}: uses an unsupported compression; use numpy.savez or numpy.savez_compressed", where));
  if (entry.comp_size > file_bytes || !plausible_unpacked_size(entry.size, entry.comp_size))
    throw data_error(
        fmt::format("{}: claims to unpack {} bytes into {}, in a file of {}; refused as damaged",
                    where, entry.comp_size, entry.size, file_bytes));
  if (!TrustInAllFiles::is_given() && !is_usual_unpacked_size(entry.size, entry.comp_size))
    throw data_error(
        fmt::format("{}: {} bytes would unpack into {}, which is much for features; {}", where,
                    entry.comp_size, entry.size, kHowToTrust));
}

}  // namespace

void NpzFile::Close::operator()(zip* archive) const {
  zip_discard(archive);
}

NpzFile::NpzFile(const std::filesystem::path& file) : where_(file.string()), file_(file) {
  ZipError error;
  zip_source_t* source =
      zip_source_buffer_create(file_.bytes().data(), file_.bytes().size(), 0, error.get());
  if (source != nullptr) archive_.reset(zip_open_from_source(source, ZIP_RDONLY, error.get()));
  if (!archive_ && source != nullptr) zip_source_free(source);
  if (!archive_)
    throw data_error(fmt::format("{}: is not a readable .npz file: {}; write it with numpy.savez",
                                 where_, error.text()));
}

bool NpzFile::has(const std::string& name) const {
  return zip_name_locate(archive_.get(), entry_name(name).c_str(), 0) >= 0;
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i)
    if (const char* entry = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0)) {
      std::string name = entry;
      if (name.ends_with(kArrayEnding)) name.resize(name.size() - kArrayEnding.size());
      names.push_back(std::move(name));
    }
  return names;
}

NpzFile::Unpacked NpzFile::unpack(const std::string& name) const {
  const std::string where = fmt::format("{}: '{}'", where_, name);
  zip_stat_t entry;
  zip_stat_init(&entry);
  if (zip_stat(archive_.get(), entry_name(name).c_str(), 0, &entry) != 0)
    throw data_error(fmt::format("{}: cannot be found: {}", where, archive_error(archive_.get())));
  check_entry(entry, file_.bytes().size(), where);

  const std::unique_ptr<zip_file_t, CloseEntry> stream(
      zip_fopen_index(archive_.get(), entry.index, 0));
  if (!stream)
    throw data_error(fmt::format("{}: cannot be opened: {}", where, archive_error(archive_.get())));
  const std::shared_ptr<std::byte[]> memory(new std::byte[entry.size]);
  std::uint64_t filled = 0;
  // One read beyond the end makes libzip compare the checksum.
  for (bool ended = false; !ended;) {
    std::byte beyond{};
    const bool full = filled == entry.size;
    const zip_int64_t got =
        full ? zip_fread(stream.get(), &beyond, 1)
             : zip_fread(stream.get(), memory.get() + filled, entry.size - filled);
    if (got < 0 || (full && got > 0) || (!full && got == 0))
      throw data_error(
          fmt::format("{}: cannot be unpacked; the file is damaged, write it again", where));
    ended = full;
    filled += static_cast<std::uint64_t>(got);
  }
  return {memory, {memory.get(), entry.size}, where};
}

LoadedArray NpzFile::load(const std::string& name) const {
  const Unpacked array = unpack(name);
  return {array.memory, npy_array(array.bytes, array.where)};
}

std::optional<std::vector<std::string>> NpzFile::texts(const std::string& name) const {
  const Unpacked array = unpack(name);
  return npy_texts(array.bytes, array.where);
}

}  // namespace deepvoro
