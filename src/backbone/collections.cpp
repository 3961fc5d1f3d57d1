#include "backbone/collections.hpp"

#include <array>

namespace deepvoro {

namespace fs = std::filesystem;

std::map<std::string, fs::path> split_collections(const fs::path& pictures) {
  constexpr std::array<const char*, 3> splits{"base", "val", "novel"};
  constexpr std::array<const char*, 8> endings{"",        ".json", ".csv", ".tar",
                                               ".tar.gz", ".tgz",  ".zip", "-images-idx3-ubyte"};
  std::map<std::string, fs::path> found;
  std::error_code unreadable;
  if (!fs::is_directory(pictures, unreadable)) return found;
  for (const std::string split : splits)
    for (const char* ending : endings)
      if (const fs::path path = pictures / (split + ending); fs::exists(path, unreadable))
        found.try_emplace(split, path);
  return found;
}

}  // namespace deepvoro
