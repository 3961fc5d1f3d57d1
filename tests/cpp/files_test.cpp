#include "core/files.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

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
