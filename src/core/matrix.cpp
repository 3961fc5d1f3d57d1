#include "core/matrix.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace deepvoro {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLargePage = std::size_t{2} << 20U;
// From here on the allocator would map memory anew each time and have it cleared by the system, by
// the one thread that clears it again.
constexpr std::size_t kMappedBytes = std::size_t{32} << 20U;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  if (rounded < bytes) throw std::bad_alloc();
  return rounded;
}

// Large pages are a wish: without them, only slower.
void* mapped(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

void* allocate_zeroed(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes >= kMappedBytes) return mapped(rounded_up(bytes, kLargePage));
  const bool is_large = bytes >= kLargePage;
  const std::size_t unit = is_large ? kLargePage : kLine;
  const std::size_t rounded = rounded_up(bytes, unit);
  void* memory = std::aligned_alloc(unit, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  if (is_large) ::madvise(memory, rounded, MADV_HUGEPAGE);
  return std::memset(memory, 0, bytes);
}

void release_zeroed(void* memory, std::size_t bytes) {
  if (bytes >= kMappedBytes)
    ::munmap(memory, rounded_up(bytes, kLargePage));
  else
    std::free(memory);
}

}  // namespace deepvoro
