#include "new_store_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include "core/changed_files.hpp"
#include "core/files.hpp"
#include "core/temporary_name.hpp"
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

NewStoreFolder::NewStoreFolder(const fs::path& name) : final_(free_name(name)) {
  remove_leftovers(final_);
  do {
    temporary_ = temporary_name(final_);
    std::error_code error;
    if (!fs::create_directory(temporary_, error)) {
      temporary_.clear();
      throw data_error(fmt::format("{}: cannot be created: {}{}", final_.string(), error.message(),
                                   writing_advice(error.value())));
    }
    lock_ = Descriptor(::open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  } while (!lock_ || !lock_temporary(lock_.number()));
}

NewStoreFolder::~NewStoreFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void NewStoreFolder::commit() {
  throw_if_files_changed();
  std::error_code error;
  fs::rename(temporary_, final_, error);
  if (error)
    throw data_error(fmt::format("{}: cannot be moved into place: {}{}", final_.string(),
                                 error.message(), writing_advice(error.value())));
  temporary_.clear();
}

}  // namespace deepvoro
