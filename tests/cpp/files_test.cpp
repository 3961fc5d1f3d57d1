#include "core/files.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/changed_files.hpp"
#include "core/temporary_name.hpp"
#include "deepvoro/core/parallel.hpp"
#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, HoldsTheBytesOfTheFile) {
  const TemporaryFolder folder;
  const std::string contents("some\0bytes", 10);
  write_file(folder / "file", contents);
  const MappedFile file(folder / "file");
  EXPECT_EQ(text_of(file), contents);
  EXPECT_EQ(file.path(), folder / "file");
}

TEST(MappedFile, OfAnEmptyFileHasNoBytes) {
  const TemporaryFolder folder;
  write_file(folder / "empty", "");
  EXPECT_TRUE(MappedFile(folder / "empty").bytes().empty());
}

TEST(MappedFile, KeepsTheMappingWhenMoved) {
  const TemporaryFolder folder;
  write_file(folder / "a", "first");
  write_file(folder / "b", "second");
  MappedFile a(folder / "a");
  MappedFile b(folder / "b");
  MappedFile taken(std::move(a));
  EXPECT_EQ(text_of(taken), "first");
  taken = std::move(b);
  EXPECT_EQ(text_of(taken), "second");
  EXPECT_EQ(taken.path(), folder / "b");
}

TEST(MappedFile, NamesAMissingFile) {
  const TemporaryFolder folder;
  expect_error(ErrorKind::data, {(folder / "missing").string(), "No such file"},
               [&] { MappedFile(folder / "missing"); });
}

TEST(MappedFile, RefusesADirectory) {
  const TemporaryFolder folder;
  expect_error(ErrorKind::data, {folder.path().string(), "not a regular file"},
               [&] { MappedFile(folder.path()); });
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "result");
  file.write("whole ");
  file.write("text");
  EXPECT_FALSE(std::filesystem::exists(folder / "result"));
  file.commit();
  EXPECT_EQ(read_file(folder / "result"), "whole text");
}

TEST(AtomicFile, LeavesNoTemporaryFileOnceCommitted) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "result");
    file.write("text");
    file.commit();
  }
  EXPECT_EQ(folder.file_names(), std::vector<std::string>{"result"});
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "result");
    file.write("half a te");
  }
  EXPECT_TRUE(folder.file_names().empty());
}

TEST(AtomicFile, KeepsTheOldFileWithoutCommit) {
  const TemporaryFolder folder;
  write_file(folder / "result", "old");
  {
    AtomicFile file(folder / "result");
    file.write("new");
  }
  EXPECT_EQ(read_file(folder / "result"), "old");
  EXPECT_EQ(folder.file_names(), std::vector<std::string>{"result"});
}

TEST(AtomicFile, ReplacesTheOldFileWhole) {
  const TemporaryFolder folder;
  write_file(folder / "result", "a longer old text");
  AtomicFile file(folder / "result");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder / "result"), "new");
}

TEST(AtomicFile, ReplacesTheTargetOfALinkAndKeepsTheLink) {
  const TemporaryFolder folder;
  write_file(folder / "elsewhere" / "target", "old");
  std::filesystem::create_symlink("elsewhere/target", folder / "result");
  AtomicFile file(folder / "result");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "result"));
  EXPECT_EQ(read_file(folder / "elsewhere" / "target"), "new");
}

TEST(AtomicFile, OnAFullDeviceIsADataErrorThatNamesIt) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  expect_error(ErrorKind::data, {"/dev/full", "cannot be written", "No space left"}, [] {
    AtomicFile file("/dev/full");
    file.write("less than a buffer");
    file.commit();
  });
}

TEST(AtomicFile, InAMissingFolderIsADataErrorThatNamesTheFile) {
  const TemporaryFolder folder;
  const auto path = folder / "missing" / "result";
  expect_error(ErrorKind::data, {path.string(), "cannot be created"},
               [&] { AtomicFile file(path); });
}

TEST(AtomicFile, BelowAFileIsADataError) {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  expect_error(ErrorKind::data, {"cannot be created"},
               [&] { AtomicFile file(folder / "file" / "result"); });
}

TEST(AtomicFile, CannotReplaceADirectory) {
  const TemporaryFolder folder;
  write_file(folder / "result" / "inside", "");
  expect_error(ErrorKind::data, {(folder / "result").string(), "cannot be created"}, [&] {
    AtomicFile file(folder / "result");
    file.write("text");
    file.commit();
  });
  EXPECT_EQ(folder.file_names(), std::vector<std::string>{"result"});
}

TEST(AtomicFile, HasNamesAsLongAsTheSystemAllows) {
  const TemporaryFolder folder;
  const std::string name(255, 'n');
  AtomicFile file(folder / name);
  file.write("text");
  file.commit();
  EXPECT_EQ(folder.file_names(), std::vector<std::string>{name});
}

TEST(AtomicFile, KeepsMoreThanItsBufferInOrder) {
  const TemporaryFolder folder;
  std::string expected;
  AtomicFile file(folder / "result");
  for (const std::size_t size : {1UL, 65535UL, 2UL, 200000UL, 3UL}) {
    const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(read_file(folder / "result"), expected);
}

TEST(AtomicFile, RemovesWhatAKilledProcessLeft) {
  const TemporaryFolder folder;
  write_file(temporary_name(folder / "result"), "half");
  write_file(folder / "result.part", "not ours");
  write_file(temporary_name(folder / "other"), "of another file");
  AtomicFile file(folder / "result");
  file.write("whole");
  file.commit();
  EXPECT_EQ(folder.file_names().size(), 3U);
  EXPECT_EQ(read_file(folder / "result"), "whole");
}

TEST(AtomicFile, LeavesWhatARunningProcessWrites) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "result");
  first.write("first");
  AtomicFile second(folder / "result");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(read_file(folder / "result"), "first");
  EXPECT_EQ(folder.file_names(), std::vector<std::string>{"result"});
}

TEST(TemporaryName, IsNeverTheSame) {
  EXPECT_NE(temporary_name("folder/result"), temporary_name("folder/result"));
  EXPECT_EQ(temporary_name("folder/result").parent_path(), "folder");
  EXPECT_EQ(temporary_name("result").parent_path(), ".");
}

class FileThatChanges : public ::testing::Test {
 protected:
  static constexpr std::size_t kSize = 100'000;

  FileThatChanges() { write_file(path_, std::string(kSize, 'x')); }

  // Reads all of it, so that a page that is gone is met.
  static std::size_t count(const MappedFile& file) {
    std::size_t found = 0;
    for (const std::byte byte : file.bytes()) found += byte == std::byte{'x'} ? 1 : 0;
    return found;
  }
  void expect_told() const {
    expect_error(ErrorKind::data, {path_.string(), "changed while it was read"},
                 [] { throw_if_files_changed(); });
    EXPECT_NO_THROW(throw_if_files_changed());
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "rows";
};

TEST_F(FileThatChanges, IsNoErrorWhereItDoesNot) {
  { EXPECT_EQ(count(MappedFile(path_)), kSize); }
  EXPECT_NO_THROW(throw_if_files_changed());
}

TEST_F(FileThatChanges, IsToldWhereItWasCutShort) {
  {
    const MappedFile file(path_);
    std::filesystem::resize_file(path_, 10);
    EXPECT_EQ(count(file), 10U);
    expect_told();
  }
  expect_told();  // by its size in the end
}

TEST_F(FileThatChanges, IsToldAfterAParallelLoop) {
  std::optional<MappedFile> file(MappedFile{path_});
  std::filesystem::resize_file(path_, 10);
  std::atomic<std::size_t> found = 0;
  expect_error(ErrorKind::data, {path_.string(), "changed"}, [&] {
    parallel_for(2, 8, 1, [&](std::size_t, std::size_t, unsigned) { found += count(*file); });
  });
  EXPECT_EQ(found, 8U * 10U);
  file.reset();
  expect_told();  // by its size in the end
}

TEST_F(FileThatChanges, IsNotToldTwiceWhereAnErrorEndsTheReading) {
  expect_error(ErrorKind::data, {path_.string()}, [&] {
    const MappedFile file(path_);
    std::filesystem::resize_file(path_, 10);
    EXPECT_EQ(count(file), 10U);
    throw_if_files_changed();
  });
  EXPECT_NO_THROW(throw_if_files_changed());
}

TEST_F(FileThatChanges, KeepsAnotherFileFromBeingWritten) {
  AtomicFile out(folder_ / "result");
  {
    const MappedFile file(path_);
    std::filesystem::last_write_time(
        path_, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  }
  expect_error(ErrorKind::data, {path_.string()}, [&] { out.commit(); });
}

TEST_F(FileThatChanges, IsNoErrorWhereItWasReplacedOrRemoved) {
  {
    const MappedFile replaced(path_);
    AtomicFile out(path_);
    out.write("new");
    out.commit();
    EXPECT_EQ(count(replaced), kSize);
  }
  {
    const MappedFile removed(path_);
    std::filesystem::remove(path_);
  }
  EXPECT_NO_THROW(throw_if_files_changed());
}

TEST(ReadText, ReadsWhatIsThere) {
  const TemporaryFolder folder;
  write_file(folder / "text", "two\nlines");
  write_file(folder / "empty", "");
  EXPECT_EQ(read_text(folder / "text"), "two\nlines");
  EXPECT_EQ(read_text(folder / "empty"), "");
}

TEST(ReadText, RefusesMoreThanTheLimit) {
  const TemporaryFolder folder;
  write_file(folder / "text", "12345");
  EXPECT_EQ(read_text(folder / "text", 5), "12345");
  expect_error(ErrorKind::data, {(folder / "text").string(), "5 bytes", "the 4"},
               [&] { (void)read_text(folder / "text", 4); });
}

}  // namespace
}  // namespace deepvoro
