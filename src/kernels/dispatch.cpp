#include <fmt/format.h>

#include <cstdlib>

#include "deepvoro/core/error.hpp"
#include "levels.hpp"

namespace deepvoro::kernels {
namespace {

constexpr Level kLevels[] = {Level::avx512, Level::avx2, Level::neon, Level::generic};

const Table& best_table() {
  for (const Level level : kLevels)
    if (const Table* found = table(level)) return *found;
  throw internal_error("no instruction-set level can run here");
}

const Table& choose() {
  const char* wanted = std::getenv("DEEPVORO_ISA");
  if (wanted == nullptr || *wanted == '\0') return best_table();
  for (const Level level : kLevels) {
    if (name(level) != wanted) continue;
    if (const Table* found = table(level)) return *found;
    throw usage_error(fmt::format("DEEPVORO_ISA={}: this processor does not have it", wanted));
  }
  throw usage_error(
      fmt::format("DEEPVORO_ISA={}: unknown; use generic, avx2, avx512 or neon", wanted));
}

}  // namespace

std::string_view name(Level level) {
  switch (level) {
    case Level::generic:
      return "generic";
    case Level::avx2:
      return "avx2";
    case Level::avx512:
      return "avx512";
    case Level::neon:
      return "neon";
  }
  return "unknown";
}

const Table* table(Level level) {
  switch (level) {
    case Level::generic:
      return &generic_table;
#ifdef DEEPVORO_X86_KERNELS
    case Level::avx2:

      // Every processor with AVX2 has F16C, which clang 14 cannot ask for.
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2_table
                                                                             : nullptr;
    case Level::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512vl")
                 ? &avx512_table
                 : nullptr;
#endif
#ifdef DEEPVORO_ARM_KERNELS
    case Level::neon:
      return &neon_table;
#endif
    default:
      return nullptr;
  }
}

const Table& active() {
  static const Table& chosen = choose();
  return chosen;
}

}  // namespace deepvoro::kernels
