#include "core/matrix.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace deepvoro {

void* allocate_zeroed(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  constexpr std::size_t line = 64;
  constexpr std::size_t large_page = std::size_t{2} << 20U;
  const bool large = bytes >= large_page;
  const std::size_t alignment = large ? large_page : line;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (rounded < bytes) throw std::bad_alloc();
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  if (large) ::madvise(memory, rounded, MADV_HUGEPAGE);  // a wish: without it, only slower
  return std::memset(memory, 0, bytes);
}

}  // namespace deepvoro
