#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

// The part of onnxruntime's C API that is used here. The library is loaded when it is needed, so
// that neither its headers nor the library have to be there to build the program.
namespace deepvoro::onnx {

struct Env;
struct Status;
struct Session;
struct SessionOptions;
struct RunOptions;
struct Value;
struct TypeInfo;
struct TensorInfo;
struct MemoryInfo;
struct Allocator;

constexpr int kFloat32 = 1;

// Functions by their places in the library's table, which never change.
struct Api {
  const char* (*error_message)(const Status*);
  Status* (*create_env)(int log_level, const char* name, Env**);
  Status* (*create_session)(const Env*, const char* path, const SessionOptions*, Session**);
  Status* (*run)(Session*, const RunOptions*, const char* const* input_names,
                 const Value* const* inputs, std::size_t input_count,
                 const char* const* output_names, std::size_t output_count, Value** outputs);
  Status* (*create_session_options)(SessionOptions**);
  Status* (*set_threads)(SessionOptions*, int count);
  Status* (*input_count)(const Session*, std::size_t*);
  Status* (*output_count)(const Session*, std::size_t*);
  Status* (*input_type)(const Session*, std::size_t input, TypeInfo**);
  Status* (*input_name)(const Session*, std::size_t input, Allocator*, char**);
  Status* (*output_name)(const Session*, std::size_t output, Allocator*, char**);
  Status* (*create_tensor)(const MemoryInfo*, void* data, std::size_t bytes,
                           const std::int64_t* shape, std::size_t rank, int element_type, Value**);
  Status* (*tensor_data)(Value*, void**);
  Status* (*tensor_info_of_type)(const TypeInfo*, const TensorInfo**);
  Status* (*element_type)(const TensorInfo*, int*);
  Status* (*rank)(const TensorInfo*, std::size_t*);
  Status* (*shape)(const TensorInfo*, std::int64_t*, std::size_t rank);
  Status* (*tensor_info_of_value)(const Value*, TensorInfo**);
  Status* (*create_memory_info)(int allocator, int memory, MemoryInfo**);
  Status* (*free)(Allocator*, void*);
  Status* (*default_allocator)(Allocator**);
  void (*release_status)(Status*);
  void (*release_memory_info)(MemoryInfo*);
  void (*release_session)(Session*);
  void (*release_value)(Value*);
  void (*release_type)(TypeInfo*);
  void (*release_tensor_info)(TensorInfo*);
  void (*release_session_options)(SessionOptions*);
};

// onnxruntime in this process: loaded once, never unloaded.
class Runtime {
 public:
  // A data error says how to get the library where it is missing.
  [[nodiscard]] static const Runtime& loaded();

  [[nodiscard]] const Api& api() const { return api_; }
  [[nodiscard]] const Env* env() const { return env_; }
  [[nodiscard]] Allocator* allocator() const { return allocator_; }
  [[nodiscard]] const MemoryInfo* memory() const { return memory_; }

  // A data error that begins with `where` if there is a status, which is released.
  void check(Status* status, const std::string& where) const;

 private:
  explicit Runtime(const std::filesystem::path& library);

  Api api_{};
  Env* env_ = nullptr;
  Allocator* allocator_ = nullptr;
  MemoryInfo* memory_ = nullptr;
};

// Where `deepvoro backbone install onnxruntime` puts the library.
[[nodiscard]] std::filesystem::path installed_library();

// Owns what the library made.
template <class T, auto Release>
struct Releaser {
  void operator()(T* object) const { (Runtime::loaded().api().*Release)(object); }
};
using OwnedSession = std::unique_ptr<Session, Releaser<Session, &Api::release_session>>;
using OwnedOptions =
    std::unique_ptr<SessionOptions, Releaser<SessionOptions, &Api::release_session_options>>;
using OwnedValue = std::unique_ptr<Value, Releaser<Value, &Api::release_value>>;
using OwnedType = std::unique_ptr<TypeInfo, Releaser<TypeInfo, &Api::release_type>>;
using OwnedTensorInfo =
    std::unique_ptr<TensorInfo, Releaser<TensorInfo, &Api::release_tensor_info>>;

}  // namespace deepvoro::onnx
