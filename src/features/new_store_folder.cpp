#include "new_store_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

// "store" for "store/", which would else be the name of nothing inside it.
fs::path free_name(const fs::path& name) {
  fs::path output = name.lexically_normal();
  if (!output.has_filename()) output = output.parent_path();
  if (output.empty()) throw usage_error("the name of the store to create is empty");
  if (fs::exists(fs::symlink_status(output)))
    throw usage_error(
        fmt::format("{}: already exists; remove it first or choose another name", output.string()));
  return output;
}

}  // namespace

NewStoreFolder::NewStoreFolder(const fs::path& name)
    : final_(free_name(name)), temporary_(final_.string() + fmt::format(".{}.part", ::getpid())) {
  std::error_code error;
  fs::remove_all(temporary_, error);
  if (!fs::create_directory(temporary_, error))
    throw data_error(
        fmt::format("{}: cannot be created; does the folder {} exist and may you write there?",
                    final_.string(), fs::absolute(final_).parent_path().string()));
}

NewStoreFolder::~NewStoreFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void NewStoreFolder::commit() {
  std::error_code error;
  fs::rename(temporary_, final_, error);
  if (error)
    throw data_error(
        fmt::format("{}: cannot be moved into place: {}", final_.string(), error.message()));
  temporary_.clear();
}

}  // namespace deepvoro
