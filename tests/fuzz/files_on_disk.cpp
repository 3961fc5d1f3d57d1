#include <fstream>

#include "cpp/test_store.hpp"
#include "harness.hpp"

namespace deepvoro::fuzz {

std::filesystem::path file_with(Bytes bytes, const std::string& name) {
  static const test::TemporaryFolder folder;
  std::filesystem::path file = folder.path() / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text_of(bytes);
  return file;
}

}  // namespace deepvoro::fuzz
