#include "core/library_folder.hpp"

#include <dlfcn.h>
#include <link.h>

namespace deepvoro {

std::filesystem::path library_folder() {
  Dl_info self{};
  link_map* object = nullptr;
  if (::dladdr1(reinterpret_cast<const void*>(&library_folder), &self,
                reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0)
    return std::filesystem::current_path();
  // A program has no name here.
  if (*object->l_name == '\0') return std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return std::filesystem::absolute(object->l_name).parent_path();
}

}  // namespace deepvoro
