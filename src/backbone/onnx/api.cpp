#include "api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "core/text.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro::onnx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryName = "libonnxruntime.so";
constexpr std::uint32_t kApiVersion = 11;  // newer libraries have older versions too

struct ApiBase {
  const void* const* (*table)(std::uint32_t version);
  const char* (*version)();
};

template <class Function>
void take(const void* const* table, std::size_t place, Function& function) {
  // POSIX allows what the language leaves open.
  function = reinterpret_cast<Function>(const_cast<void*>(table[place]));
}

Api api_of(const void* const* table) {
  Api api{};
  take(table, 2, api.error_message);
  take(table, 3, api.create_env);
  take(table, 7, api.create_session);
  take(table, 9, api.run);
  take(table, 10, api.create_session_options);
  take(table, 24, api.set_threads);
  take(table, 30, api.input_count);
  take(table, 31, api.output_count);
  take(table, 33, api.input_type);
  take(table, 36, api.input_name);
  take(table, 37, api.output_name);
  take(table, 49, api.create_tensor);
  take(table, 51, api.tensor_data);
  take(table, 55, api.tensor_info_of_type);
  take(table, 60, api.element_type);
  take(table, 61, api.rank);
  take(table, 62, api.shape);
  take(table, 65, api.tensor_info_of_value);
  take(table, 69, api.create_memory_info);
  take(table, 76, api.free);
  take(table, 78, api.default_allocator);
  take(table, 93, api.release_status);
  take(table, 94, api.release_memory_info);
  take(table, 95, api.release_session);
  take(table, 96, api.release_value);
  take(table, 98, api.release_type);
  take(table, 99, api.release_tensor_info);
  take(table, 100, api.release_session_options);
  return api;
}

// What the user names, what was installed, or what the system has.
fs::path library_file() {
  const char* named = std::getenv("DEEPVORO_ONNXRUNTIME");  // NOLINT(concurrency-mt-unsafe)
  if (named != nullptr && *named != '\0') return named;
  if (std::error_code absent; fs::exists(installed_library(), absent)) return installed_library();
  return kLibraryName;
}

}  // namespace

fs::path installed_library() {
  return user_backbone_folder() / kLibraryName;
}

Runtime::Runtime(const fs::path& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw data_error(
        fmt::format("networks in ONNX files need onnxruntime; run: deepvoro backbone install "
                    "onnxruntime, or set DEEPVORO_ONNXRUNTIME to {} ({})",
                    kLibraryName, as_text_line(::dlerror())),
        ErrorCode::missing_network);
  void* symbol = ::dlsym(handle, "OrtGetApiBase");
  const ApiBase* base =
      symbol == nullptr ? nullptr : reinterpret_cast<const ApiBase* (*)()>(symbol)();
  const void* const* table = base == nullptr ? nullptr : base->table(kApiVersion);
  if (table == nullptr)
    throw data_error(
        fmt::format("{}: is not onnxruntime 1.11 or later; run: deepvoro backbone install "
                    "onnxruntime",
                    library.string()),
        ErrorCode::missing_network);
  api_ = api_of(table);
  constexpr int nothing_but_crashes = 4;  // what goes wrong is told by us, in one line
  check(api_.create_env(nothing_but_crashes, "deepvoro", &env_), library.string());
  check(api_.default_allocator(&allocator_), library.string());
  constexpr int device_allocator = 0;
  constexpr int default_memory = 0;
  check(api_.create_memory_info(device_allocator, default_memory, &memory_), library.string());
}

const Runtime& Runtime::loaded() {
  static const Runtime* const runtime = new Runtime(library_file());  // never unloaded
  return *runtime;
}

void Runtime::check(Status* status, const std::string& where) const {
  if (status == nullptr) return;
  const std::string reason = as_text_line(api_.error_message(status));
  api_.release_status(status);
  throw data_error(fmt::format("{}: onnxruntime says: {}", where, reason));
}

}  // namespace deepvoro::onnx
