#include "scratch_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/temporary_name.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro::serve {

ScratchFolder::ScratchFolder() {
  std::error_code error;
  const std::filesystem::path name = std::filesystem::temp_directory_path(error) / "deepvoro-serve";
  remove_leftovers(name);
  do {
    folder_ = temporary_name(name);
    if (error || ::mkdir(folder_.c_str(), S_IRWXU) != 0)
      throw data_error("no temporary folder can be made; set TMPDIR to one that can be written");
    lock_ = Descriptor(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  } while (!lock_ || !lock_temporary(lock_.number()));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::filesystem::path ScratchFolder::new_file() const {
  return temporary_name(folder_ / "file");
}

}  // namespace deepvoro::serve
