#include "core/loaded_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace deepvoro {

LoadedLibrary::LoadedLibrary(const char* name, const std::string& what, ErrorCode code)
    : name_(name), code_(code), handle_(::dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* reason = ::dlerror();
  throw data_error(fmt::format("{} need {}, which cannot be loaded; install it ({})", what, name,
                               reason != nullptr ? reason : "no reason given"),
                   code);
}

void* LoadedLibrary::address(const char* symbol) const {
  void* found = ::dlsym(handle_, symbol);
  if (found == nullptr)
    throw data_error(fmt::format("{}: has no {}; build again with this version", name_, symbol),
                     code_);
  return found;
}

}  // namespace deepvoro
