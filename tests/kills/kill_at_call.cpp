// Preloaded into a program, ends it by SIGKILL at one of its calls to the file system, as a loss of
// power would: before the call, or in the middle of a write. Counted are the calls about files
// below one folder; those elsewhere, which the program only reads, leave nothing behind.
//   KILL_FOLDER   that folder
//   KILL_AT       the number of the call, from 0; none to let the program run
//   KILL_HALFWAY  set: a write puts down the first half of its bytes before the end
//   KILL_INSTEAD  a file that is removed at that call; the program goes on
//   KILL_WAITS    set: the program is not ended, but waits for a signal that does
//   KILL_LOG      a file that gets the name of every call, a line each
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kMostFiles = 4096;
std::array<std::atomic<bool>, kMostFiles> is_counted_file;
std::atomic<long> calls{0};

const char* setting(const char* name) {
  return std::getenv(name);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string absolute(int folder, const char* path) {
  if (path[0] == '/') return path;
  std::array<char, 4096> base{};
  const std::string link =
      folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(folder);
  const ssize_t length = ::readlink(link.c_str(), base.data(), base.size() - 1);
  return length < 0 ? path : std::string(base.data()) + "/" + path;
}

bool is_counted(int folder, const char* path) {
  static const char* counted = setting("KILL_FOLDER");
  return counted != nullptr && path != nullptr && absolute(folder, path).starts_with(counted);
}

bool is_counted(int file) {
  return file >= 0 && file < kMostFiles && is_counted_file[static_cast<std::size_t>(file)];
}

[[noreturn]] void end() {
  if (setting("KILL_WAITS") == nullptr) ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

void log(const char* name) {
  static const char* file = setting("KILL_LOG");
  if (file == nullptr) return;
  static const int log =
      next<int(const char*, int, ...)>("open")(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const std::string line = std::string(name) + "\n";
  (void)!next<ssize_t(int, const void*, size_t)>("write")(log, line.data(), line.size());
}

// Whether this call is the one; ends the program unless it is a write to be cut.
bool is_the_one(const char* name, bool can_be_cut = false) {
  static const char* wanted = setting("KILL_AT");
  static const long number = wanted != nullptr ? std::atol(wanted) : -1;
  static const bool halfway = setting("KILL_HALFWAY") != nullptr;
  const long call = calls++;
  log(name);
  if (call != number) return false;
  if (const char* file = setting("KILL_INSTEAD")) {
    next<int(const char*)>("unlink")(file);
    return false;
  }
  if (can_be_cut && halfway) return true;
  end();
}

int opened(int file, bool counted) {
  if (file >= 0 && file < kMostFiles) is_counted_file[static_cast<std::size_t>(file)] = counted;
  return file;
}

mode_t mode_in(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

int open_at(const char* name, int folder, const char* path, int flags, mode_t mode) {
  const bool counted = is_counted(folder, path);
  if (counted) is_the_one(name);
  return opened(next<int(int, const char*, int, ...)>("openat")(folder, path, flags, mode),
                counted);
}

}  // namespace

#define OPEN(name)                                        \
  extern "C" int name(const char* path, int flags, ...) { \
    va_list rest;                                         \
    va_start(rest, flags);                                \
    const mode_t mode = mode_in(flags, rest);             \
    va_end(rest);                                         \
    return open_at("open", AT_FDCWD, path, flags, mode);  \
  }
#define OPENAT(name)                                                  \
  extern "C" int name(int folder, const char* path, int flags, ...) { \
    va_list rest;                                                     \
    va_start(rest, flags);                                            \
    const mode_t mode = mode_in(flags, rest);                         \
    va_end(rest);                                                     \
    return open_at("open", folder, path, flags, mode);                \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

extern "C" ssize_t write(int file, const void* bytes, size_t count) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  if (is_counted(file) && is_the_one("write", true)) {
    (void)!real(file, bytes, count / 2);
    end();
  }
  return real(file, bytes, count);
}

extern "C" int close(int file) {
  static auto* const real = next<int(int)>("close");
  if (is_counted(file)) {
    is_the_one("close");
    is_counted_file[static_cast<std::size_t>(file)] = false;
  }
  return real(file);
}

#define OF_FILE(name, parameters, arguments)               \
  extern "C" int name parameters {                         \
    static auto* const real = next<int parameters>(#name); \
    if (is_counted(file)) is_the_one(#name);               \
    return real arguments;                                 \
  }
OF_FILE(fsync, (int file), (file))
OF_FILE(fdatasync, (int file), (file))
OF_FILE(flock, (int file, int operation), (file, operation))
OF_FILE(ftruncate, (int file, off_t length), (file, length))

#define OF_PATH(name, parameters, arguments, folder, path) \
  extern "C" int name parameters {                         \
    static auto* const real = next<int parameters>(#name); \
    if (is_counted(folder, path)) is_the_one(#name);       \
    return real arguments;                                 \
  }
OF_PATH(rename, (const char* from, const char* to), (from, to), AT_FDCWD, to)
OF_PATH(unlink, (const char* path), (path), AT_FDCWD, path)
OF_PATH(unlinkat, (int folder, const char* path, int flags), (folder, path, flags), folder, path)
OF_PATH(remove, (const char* path), (path), AT_FDCWD, path)
OF_PATH(rmdir, (const char* path), (path), AT_FDCWD, path)
OF_PATH(mkdir, (const char* path, mode_t mode), (path, mode), AT_FDCWD, path)
OF_PATH(truncate, (const char* path, off_t length), (path, length), AT_FDCWD, path)
OF_PATH(link, (const char* from, const char* to), (from, to), AT_FDCWD, to)
OF_PATH(symlink, (const char* from, const char* to), (from, to), AT_FDCWD, to)
