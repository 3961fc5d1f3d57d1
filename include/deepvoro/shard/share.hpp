#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// One of `count` workers that divide the pieces of some work among them.
struct Share {
  std::size_t index = 0;  // from 0
  std::size_t count = 1;

  bool operator==(const Share&) const = default;
};

// "2/8" is the third of eight. "auto" is what the environment says: the task of a Slurm array, the
// rank of a program started by mpirun, or both. Anything else is a usage error.
[[nodiscard]] DEEPVORO_API Share share_named(const std::string& text);

// What a worker did of its share, or several that work together.
struct ShareReport {
  std::size_t pieces = 0;  // of the share
  std::size_t made = 0;
  std::size_t waiting = 0;  // for pieces of other shares, on which they depend; the rest was there
};

// The command whose pieces are in some folders, by the first that is found; a data error where
// there is none.
[[nodiscard]] DEEPVORO_API std::string command_of_pieces(
    std::span<const std::filesystem::path> folders);

// What is put together does not go among the pieces it is made of, or others: they would be taken
// for one thing, and deleted together. `flag`: what named the output.
DEEPVORO_API void refuse_output_among_pieces(const std::string& flag,
                                             const std::filesystem::path& output,
                                             std::span<const std::filesystem::path> folders);

}  // namespace deepvoro
