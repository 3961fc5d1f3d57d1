#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/files.hpp"
#include "deepvoro/picture/bitmap.hpp"
#include "features/npy.hpp"

namespace deepvoro::test {

// Square pictures of a .npy file, bytes [pictures, side, side, 3].
inline std::vector<Bitmap> pictures_of_npy(const std::filesystem::path& path) {
  const MappedFile file(path);
  const NpyHeader header = parse_npy_header(file.bytes(), path.string());
  const std::size_t side = header.shape[1];
  const std::size_t bytes = side * side * 3;
  std::vector<Bitmap> pictures;
  for (std::size_t i = 0; i < header.shape[0]; ++i) {
    const auto* first =
        reinterpret_cast<const std::uint8_t*>(file.bytes().data()) + header.data_offset + i * bytes;
    pictures.push_back({side, side, {first, first + bytes}});
  }
  return pictures;
}

}  // namespace deepvoro::test
