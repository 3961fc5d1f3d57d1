#include "core/changed_files.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

// What a signal handler may look at: nothing but atomics that never take a lock.
struct Slot {
  std::atomic<std::uintptr_t> begin{0};  // 0: free
  std::atomic<std::uintptr_t> end{0};
  std::atomic<const char*> path{nullptr};
};

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr std::uintptr_t kTaken = 1;
constexpr std::size_t kSlots = 1024;
std::array<Slot, kSlots> slots;

enum class Changed { none, being_written, known };
std::atomic<Changed> changed{Changed::none};
std::array<char, PATH_MAX> changed_path{};

void remember(const char* path) {
  Changed expected = Changed::none;
  if (!changed.compare_exchange_strong(expected, Changed::being_written)) return;
  std::strncpy(changed_path.data(), path, changed_path.size() - 1);
  changed = Changed::known;
}

struct sigaction earlier_action {};

void hand_on(int signal, siginfo_t* info, void* context) {
  if ((earlier_action.sa_flags & SA_SIGINFO) != 0)
    return earlier_action.sa_sigaction(signal, info, context);
  if (earlier_action.sa_handler != SIG_DFL && earlier_action.sa_handler != SIG_IGN)
    return earlier_action.sa_handler(signal);
  // The access is repeated after the return, and then ends the process as it would have.
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  ::sigaction(SIGBUS, &default_action, nullptr);
}

void fill_with_zeros(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const auto page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const Slot& slot : slots) {
    if (slot.begin <= kTaken || address < slot.begin || address >= slot.end) continue;
    std::byte* page = static_cast<std::byte*>(info->si_addr) - address % page_size;
    if (::mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) ==
        page) {
      remember(slot.path);
      errno = saved_errno;
      return;
    }
  }
  errno = saved_errno;
  hand_on(signal, info, context);
}

void install_handler_once() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = fill_with_zeros;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return ::sigaction(SIGBUS, &action, &earlier_action) == 0;
  }();
  (void)installed;
}

}  // namespace

MappingGuard::MappingGuard() : slot_(kNone) {}

MappingGuard::MappingGuard(std::span<const std::byte> mapping, const std::filesystem::path& path)
    : slot_(kNone) {
  install_handler_once();
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  for (std::size_t i = 0; i < kSlots; ++i) {
    std::uintptr_t free = 0;
    if (!slots[i].begin.compare_exchange_strong(free, kTaken)) continue;
    slots[i].path = path.c_str();
    slots[i].end = begin + mapping.size();
    slots[i].begin = begin;
    slot_ = i;
    return;
  }
}

MappingGuard::MappingGuard(MappingGuard&& other) noexcept
    : slot_(std::exchange(other.slot_, kNone)) {}

MappingGuard& MappingGuard::operator=(MappingGuard&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

MappingGuard::~MappingGuard() {
  if (slot_ != kNone) slots[slot_].begin = 0;
}

void remember_changed_file(const std::filesystem::path& path) {
  remember(path.c_str());
}

void throw_if_files_changed() {
  if (changed != Changed::known) return;
  const std::string path = changed_path.data();
  Changed expected = Changed::known;
  if (!changed.compare_exchange_strong(expected, Changed::none)) return;
  throw data_error(fmt::format(
      "{}: changed while it was read; run the command again when nobody writes to it", path));
}

}  // namespace deepvoro
