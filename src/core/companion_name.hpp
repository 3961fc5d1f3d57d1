#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/sha256.hpp"

namespace deepvoro {

// The file that belongs to an output and lies beside it: its name and an ending, such as
// pool.json.partial. Where that would be longer than a name may be, a hash takes the place of the
// end of the output's name.
[[nodiscard]] inline std::filesystem::path companion_name(const std::filesystem::path& output,
                                                          std::string_view ending) {
  constexpr std::size_t longest_name = 255;
  constexpr std::size_t hash_digits = 16;
  std::string name = output.filename().string();
  if (name.size() + ending.size() > longest_name) {
    const std::string hash = sha256_hex(name).substr(0, hash_digits);
    name = name.substr(0, longest_name - ending.size() - hash_digits) + hash;
  }
  return output.parent_path() / name.append(ending);
}

}  // namespace deepvoro
