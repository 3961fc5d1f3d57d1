#include "library_folder.hpp"

#include <dlfcn.h>

namespace deepvoro {

std::filesystem::path library_folder() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&library_folder), &self) == 0 ||
      self.dli_fname == nullptr)
    return std::filesystem::current_path();
  return std::filesystem::absolute(self.dli_fname).parent_path();
}

}  // namespace deepvoro
