#include "core/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "core/descriptor.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

enum Outcome : int { answered = 0, threw_error = 1, died = 2 };

// In front of the text of an error that crosses over.
struct ErrorHeader {
  ErrorKind kind;
  ErrorCode code;
};

void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) throw data_error("memory is full");
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

std::uint64_t address_space() {
  std::uint64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    unsigned long long first = 0;
    if (std::fscanf(file, "%llu", &first) == 1) pages = first;
    std::fclose(file);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void lower_limit(decltype(RLIMIT_AS) which, std::uint64_t value) {
  struct rlimit limit {};
  ::getrlimit(which, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, value);
  ::setrlimit(which, &limit);
}

void limit_this_process(const ChildLimits& limits) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGINT, SIGTERM})
    std::signal(signal, SIG_DFL);
  lower_limit(RLIMIT_CORE, 0);
  lower_limit(RLIMIT_CPU, limits.cpu_seconds);
  lower_limit(RLIMIT_AS, address_space() + limits.memory_bytes);
}

// Whatever happens: what the parent left open, buffers above all, must not be finished twice.
[[noreturn]] void be_the_child(const ChildLimits& limits, int answer,
                               const std::function<void(const ByteSink&)>& work) {
  try {
    limit_this_process(limits);
    work([&](std::span<const std::byte> bytes) { write_all(answer, bytes); });
    ::_exit(answered);
  } catch (const Error& error) {
    try {
      const ErrorHeader header{error.kind(), error.code()};
      const std::span<const char> text(error.what(), std::strlen(error.what()));
      if (::ftruncate(answer, 0) != 0 || ::lseek(answer, 0, SEEK_SET) != 0) ::_exit(died);
      write_all(answer, std::as_bytes(std::span(&header, 1)));
      write_all(answer, std::as_bytes(text));
      ::_exit(threw_error);
    } catch (...) {
      ::_exit(died);
    }
  } catch (...) {
    ::_exit(died);
  }
}

ChildAnswer mapped(const Descriptor& file) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw internal_error("an answer cannot be read");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {std::shared_ptr<const void>(
              memory, [size](const void* all) { ::munmap(const_cast<void*>(all), size); }),
          {static_cast<const std::byte*>(memory), size}};
}

[[noreturn]] void throw_error_in(const ChildAnswer& answer) {
  ErrorHeader header{};
  if (answer.bytes.size() < sizeof header) throw internal_error("an error without a text");
  std::memcpy(&header, answer.bytes.data(), sizeof header);
  const std::span<const std::byte> text = answer.bytes.subspan(sizeof header);
  throw Error(header.kind, {reinterpret_cast<const char*>(text.data()), text.size()}, header.code);
}

}  // namespace

ChildAnswer run_in_child(const ChildLimits& limits,
                         const std::function<void(const ByteSink& answer)>& work,
                         const std::string& when_it_dies) {
  const Descriptor answer(::memfd_create("deepvoro-answer", MFD_CLOEXEC));
  if (!answer) throw internal_error(fmt::format("no memory to share: {}", std::strerror(errno)));
  const pid_t child = ::fork();
  if (child < 0)
    throw internal_error(fmt::format("no process can be started: {}", std::strerror(errno)));
  if (child == 0) be_the_child(limits, answer.number(), work);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(died);
  if (outcome == threw_error) throw_error_in(mapped(answer));
  if (outcome != answered) throw data_error(when_it_dies);
  return mapped(answer);
}

}  // namespace deepvoro
