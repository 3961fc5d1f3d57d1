#include "cluster/load_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "core/library_folder.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

constexpr const char* kClusterLibrary = "libdeepvoro_cluster.so";
constexpr const char* kClusterFactory = "deepvoro_mpi_messenger";

[[noreturn]] void refuse_without_mpi(const std::string& reason) {
  if (reason.starts_with(kClusterLibrary))
    throw data_error(
        fmt::format("`shard` mpi: {} is missing; apt-get install libopenmpi-dev openmpi-bin, then "
                    "build again ('make build')",
                    kClusterLibrary));
  throw data_error(fmt::format("`shard` mpi: needs the MPI it was built with ({})", reason));
}

}  // namespace

std::unique_ptr<Messenger> mpi_messenger() {
  const std::filesystem::path beside = library_folder() / kClusterLibrary;
  const std::string file = std::filesystem::exists(beside) ? beside.string() : kClusterLibrary;
  // Never closed: MPI cannot be unloaded.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    refuse_without_mpi(reason != nullptr ? reason : "no reason given");
  }
  void* symbol = ::dlsym(library, kClusterFactory);
  if (symbol == nullptr)
    throw data_error(fmt::format("{}: has another version; build again", file));
  auto* messenger = reinterpret_cast<Messenger* (*)()>(symbol)();
  if (messenger == nullptr)
    throw data_error("`shard` mpi: this MPI does not let threads take turns");
  return std::unique_ptr<Messenger>(messenger);
}

}  // namespace deepvoro
