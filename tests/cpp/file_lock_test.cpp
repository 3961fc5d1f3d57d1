#include "core/file_lock.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/files.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::read_file;
using test::TemporaryFolder;
using test::write_file;

TEST(FileLock, LosesNoChangeOfAFileThatIsReplaced) {
  const TemporaryFolder folder;
  const auto file = folder / "count";
  write_file(file, "0");
  constexpr int changes = 50;
  const auto count_up = [&] {
    for (int i = 0; i < changes; ++i) {
      const FileLock lock(file);
      const int count = std::stoi(read_file(file));
      AtomicFile out(file);
      out.write(std::to_string(count + 1));
      out.commit();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(count_up);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_file(file), std::to_string(4 * changes));
}

TEST(FileLock, TellsThatItWaits) {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  bool told = false;
  auto first = std::make_unique<FileLock>(folder / "file", [&] { told = true; });
  EXPECT_FALSE(told);
  const FileLock second(folder / "file", [&] {
    told = true;
    first.reset();
  });
  EXPECT_TRUE(told);
}

TEST(FileLock, OfAMissingFileIsNone) {
  const TemporaryFolder folder;
  const FileLock lock(folder / "missing");
  EXPECT_TRUE(folder.file_names().empty());
}

}  // namespace
}  // namespace deepvoro
