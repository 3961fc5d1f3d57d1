#include "core/temporary_name.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/descriptor.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kRandomDigits = 16;
constexpr std::string_view kEnding = ".part";

std::string beginning_of(const std::filesystem::path& final_name) {
  const std::string name = final_name.filename().string();
  return name.substr(0, kLongestName - kRandomDigits - kEnding.size() - 1) + ".";
}

bool is_temporary(std::string_view name, std::string_view beginning) {
  if (name.size() != beginning.size() + kRandomDigits + kEnding.size()) return false;
  return name.starts_with(beginning) && name.ends_with(kEnding) &&
         name.substr(beginning.size(), kRandomDigits).find_first_not_of("0123456789abcdef") ==
             std::string_view::npos;
}

std::filesystem::path folder_of(const std::filesystem::path& name) {
  return name.has_parent_path() ? name.parent_path() : ".";
}

}  // namespace

std::filesystem::path temporary_name(const std::filesystem::path& final_name) {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    throw internal_error("the system has no random numbers");
  return folder_of(final_name) /
         fmt::format("{}{:0{}x}{}", beginning_of(final_name), random, kRandomDigits, kEnding);
}

bool lock_temporary(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

void remove_leftovers(const std::filesystem::path& final_name) {
  const std::string beginning = beginning_of(final_name);
  std::error_code ignored;
  std::filesystem::directory_iterator entry(folder_of(final_name), ignored);
  for (; !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const std::filesystem::path& path = entry->path();
    if (!is_temporary(path.filename().string(), beginning)) continue;
    const Descriptor left(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!left || ::flock(left.number(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code gone;
    std::filesystem::remove_all(path, gone);
  }
}

}  // namespace deepvoro
