#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "core/library_folder.hpp"
#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryName = "libdeepvoro_backbone.so";
constexpr const char* kFactoryName = "deepvoro_backbone_library";

std::string last_failure() {
  const char* text = ::dlerror();
  return text != nullptr ? text : "no reason given";
}

// LibTorch's threads, and those of OpenBLAS below it, wait for each other many times a step. Unless
// told so before they start, they spin, and take the processor from the one that is waited for
// where other programs run as well.
void let_waiting_threads_sleep() {
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
  // 2 to the power of it, in cycles; the least there is.
  ::setenv("OPENBLAS_THREAD_TIMEOUT", "4", 0);
}

const BackboneLibrary* load() {
  // Beside this library, or where the loader looks for libraries.
  const fs::path beside = library_folder() / kLibraryName;
  const std::string file = fs::exists(beside) ? beside.string() : kLibraryName;
  let_waiting_threads_sleep();
  // Never closed: LibTorch cannot be unloaded. Lazily bound: of the functions that it and its
  // libraries name, a network calls few.
  void* library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const std::string reason = last_failure();
    if (reason.starts_with(kLibraryName))
      throw data_error(
          fmt::format(
              "{}: is missing, and training, `device` cuda and TorchScript modules need it; "
              "apt-get install libtorch-dev, then build again with -DDEEPVORO_BACKBONE=ON "
              "('make build' does both)",
              kLibraryName),
          ErrorCode::missing_network);
    throw data_error(
        fmt::format(
            "training, `device` cuda and TorchScript modules need LibTorch: apt-get install "
            "{} ({})",
            DEEPVORO_TORCH_PACKAGE, reason),
        ErrorCode::missing_network);
  }
  void* symbol = ::dlsym(library, kFactoryName);
  if (symbol == nullptr)
    throw data_error(fmt::format("{}: has another version; build again", file));
  return reinterpret_cast<const BackboneLibrary* (*)()>(symbol)();
}

}  // namespace

const BackboneLibrary& backbone_library() {
  static const BackboneLibrary* library = load();
  return *library;
}

bool is_torchscript(const fs::path& model) {
  const fs::path ending = model.extension();
  return ending == ".ts" || ending == ".pt" || ending == ".pth";
}

}  // namespace deepvoro
