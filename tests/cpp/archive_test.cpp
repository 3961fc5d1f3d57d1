#include "core/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "expect_error.hpp"
#include "test_pictures.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::tar_bytes;

using Files = std::map<std::string, std::string>;

struct Format {
  int (*set_format)(archive*);
  int (*add_filter)(archive*);
  const char* options;  // of libarchive; none: nullptr
};
const Format kTar{::archive_write_set_format_pax_restricted, ::archive_write_add_filter_none,
                  nullptr};
const Format kTarGz{::archive_write_set_format_pax_restricted, ::archive_write_add_filter_gzip,
                    nullptr};
const Format kZip{::archive_write_set_format_zip, ::archive_write_add_filter_none, nullptr};
const Format kStoredZip{::archive_write_set_format_zip, ::archive_write_add_filter_none,
                        "zip:compression=store"};

std::string archived(const Format& format, const Files& files) {
  std::string out(std::size_t{1} << 20U, '\0');
  std::size_t used = 0;
  const std::unique_ptr<archive, decltype(&::archive_write_free)> to(::archive_write_new(),
                                                                     ::archive_write_free);
  format.set_format(to.get());
  format.add_filter(to.get());
  if (format.options != nullptr) ::archive_write_set_options(to.get(), format.options);
  EXPECT_EQ(::archive_write_open_memory(to.get(), out.data(), out.size(), &used), ARCHIVE_OK);
  for (const auto& [path, content] : files) {
    const std::unique_ptr<archive_entry, decltype(&::archive_entry_free)> entry(
        ::archive_entry_new(), ::archive_entry_free);
    ::archive_entry_set_pathname(entry.get(), path.c_str());
    ::archive_entry_set_filetype(entry.get(), AE_IFREG);
    ::archive_entry_set_perm(entry.get(), 0644);
    ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
    EXPECT_EQ(::archive_write_header(to.get(), entry.get()), ARCHIVE_OK);
    EXPECT_EQ(::archive_write_data(to.get(), content.data(), content.size()),
              static_cast<la_ssize_t>(content.size()));
  }
  EXPECT_EQ(::archive_write_close(to.get()), ARCHIVE_OK);
  out.resize(used);
  return out;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Found {
  Files files;
  std::size_t in_place = 0;
};

Found read(const std::string& archive, std::size_t limit = 1000) {
  Found found;
  ArchiveReader reader(std::as_bytes(std::span(archive)), "x");
  while (const auto path = reader.next()) {
    const ArchiveReader::Content content = reader.content(limit);
    found.in_place += content.in_place.empty() ? 0U : 1U;
    found.files[*path] = text_of(content.in_place) + text_of(content.unpacked);
  }
  return found;
}

TEST(ArchiveReader, ReadsEveryFormatAndCopiesOnlyWhatIsCompressed) {
  const Files files{{"owl/a.png", std::string(700, 'a')}, {"owl/b.png", "b"}, {"wren/c.png", ""}};
  for (const Format& format : {kTar, kTarGz, kZip, kStoredZip})
    EXPECT_EQ(read(archived(format, files)).files, files);
  EXPECT_EQ(read(archived(kTar, files)).in_place, 2U);
  EXPECT_EQ(read(archived(kTarGz, files)).in_place, 0U);
}

TEST(ArchiveReader, WhatIsNotAFileIsPassedOver) {
  const std::string tar = tar_bytes({{"owl/", "", '5'},
                                     {"owl/link.png", "", '2'},
                                     {"owl/hard.png", "", '1'},
                                     {"owl/pipe.png", "", '6'},
                                     {"owl/a.png", "a"}});
  EXPECT_EQ(read(tar).files, (Files{{"owl/a.png", "a"}}));
}

TEST(ArchiveReader, FilesMayBeLeftUnread) {
  const std::string archive = archived(kTarGz, {{"a", std::string(5000, 'x')}, {"b", "y"}});
  ArchiveReader reader(std::as_bytes(std::span(archive)), "x");
  EXPECT_EQ(reader.next(), "a");
  EXPECT_EQ(reader.next(), "b");
  EXPECT_EQ(text_of(reader.content(1).unpacked), "y");
  EXPECT_EQ(reader.next(), std::nullopt);
}

TEST(ArchiveReader, UnpacksNoMoreThanItMay) {
  for (const Format& format : {kTarGz, kZip}) {
    const std::string archive = archived(format, {{"a", std::string(100'000, 'x')}});
    EXPECT_EQ(read(archive, 100'000).files.at("a").size(), 100'000U);
    expect_error(ErrorKind::data, {"x: is too large when unpacked", "give the folder"},
                 [&] { (void)read(archive, 99'999); });
    expect_error(ErrorKind::data, {"too large"}, [&] { (void)read(archive, 0); });
  }
  // What lies in the file as it is needs no memory.
  EXPECT_EQ(read(archived(kTar, {{"a", std::string(100'000, 'x')}}), 0).in_place, 1U);
}

TEST(ArchiveReader, NamesKeepTheirLettersInAnyLocale) {
  const Files files{{"m\xC3\xB6we/\xE9\xB3\xA5.png", "a"}};
  const std::string tar = tar_bytes({{files.begin()->first, "a"}});
  EXPECT_EQ(read(tar).files, files);
  const std::string pax =
      tar_bytes({{"pax", "22 path=m\xC3\xB6we/\xE9\xB3\xA5.png\n", 'x'}, {"short", "a"}});
  EXPECT_EQ(read(pax).files, files);
}

TEST(ArchiveReader, WhatEndsTooEarlyNeverLosesAFileSilently) {
  const Files files{{"owl/a.png", std::string(700, 'a')}, {"owl/b.png", std::string(600, 'b')}};
  for (const Format& format : {kTar, kTarGz, kZip, kStoredZip}) {
    const std::string whole = archived(format, files);
    std::size_t refused = 0;
    for (std::size_t length = 0; length < whole.size(); ++length) try {
        // All may be there already when zeros or checksums at the end are not.
        EXPECT_EQ(read(whole.substr(0, length), 10'000).files, files) << length;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::data);
        EXPECT_TRUE(std::string(error.what()).starts_with("x: ")) << error.what();
        ++refused;
      }
    EXPECT_GT(refused, 100U);
  }
}

TEST(ArchiveReader, DamageIsNeverACrash) {
  const Files files{{"owl/a.png", std::string(700, 'a')}, {"owl/b.png", std::string(600, 'b')}};
  for (const Format& format : {kTar, kTarGz, kZip, kStoredZip}) {
    const std::string whole = archived(format, files);
    std::size_t refused = 0;
    for (std::size_t place = 0; place < whole.size(); ++place)
      for (const unsigned change : {0x01U, 0x80U, 0xFFU}) {
        std::string bytes = whole;
        bytes[place] = static_cast<char>(static_cast<unsigned char>(bytes[place]) ^ change);
        try {
          (void)read(bytes, 100'000);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::data);
          ++refused;
        }
        if (whole.size() > 4000) place += 12;
      }
    EXPECT_GT(refused, 100U);
  }
}

}  // namespace
}  // namespace deepvoro
