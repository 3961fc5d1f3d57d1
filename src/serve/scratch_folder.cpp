#include "scratch_folder.hpp"

#include <cstdlib>
#include <string>

#include "core/temporary_name.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro::serve {

ScratchFolder::ScratchFolder() {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / "deepvoro-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr)
    throw data_error("no temporary folder can be made; set TMPDIR to one that can be written");
  folder_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::filesystem::path ScratchFolder::new_file() const {
  return temporary_name(folder_ / "file");
}

}  // namespace deepvoro::serve
