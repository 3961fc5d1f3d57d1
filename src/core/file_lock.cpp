#include "core/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace deepvoro {
namespace {

// Whether what was locked is still what has the name: its last owner may have replaced it.
bool is_still(const std::filesystem::path& file, int descriptor) {
  struct stat locked {};
  struct stat named {};
  return ::fstat(descriptor, &locked) == 0 && ::stat(file.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file, const std::function<void()>& waiting) {
  bool told = false;
  for (;;) {
    held_ = Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!held_) return;
    if (::flock(held_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return;  // this file system has no locks
      if (waiting && !told) waiting();
      told = true;
      while (::flock(held_.number(), LOCK_EX) != 0 && errno == EINTR) {
      }
    }
    if (is_still(file, held_.number())) return;
  }
}

}  // namespace deepvoro
