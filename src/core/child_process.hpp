#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace deepvoro {

// More than the process has when it begins.
struct ChildLimits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t cpu_seconds = 0;
};

using ByteSink = std::function<void(std::span<const std::byte> bytes)>;

struct ChildAnswer {
  std::shared_ptr<const void> memory;
  std::span<const std::byte> bytes;
};

// Lets a process of its own do what could end it, and hands back the bytes it writes. An Error of
// the work is thrown here; where the process is ended by a signal, by its limits or by another
// exception, a data error with the text `when_it_dies`. The work runs on one thread alone.
[[nodiscard]] ChildAnswer run_in_child(const ChildLimits& limits,
                                       const std::function<void(const ByteSink& answer)>& work,
                                       const std::string& when_it_dies);

}  // namespace deepvoro
