// embed_pictures MODEL PICTURES.npy FEATURES.npy BATCH: what the library makes of pictures, in
// float32.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/files.hpp"
#include "deepvoro/features/npy.hpp"

int main(int argc, char** argv) try {
  using namespace deepvoro;
  if (argc != 5) return 2;
  const MappedFile file(argv[2]);
  const NpyHeader header = parse_npy_header(file.bytes(), argv[2]);
  const std::size_t side = header.shape[1];
  const std::size_t bytes = side * side * 3;
  std::vector<Image> pictures;
  for (std::size_t i = 0; i < header.shape[0]; ++i) {
    const auto* first =
        reinterpret_cast<const std::uint8_t*>(file.bytes().data()) + header.data_offset + i * bytes;
    pictures.push_back({side, side, {first, first + bytes}});
  }
  const auto backbone =
      backbone_library().open(argv[1], {.threads = 2, .device = "cpu", .input_size = side});
  std::vector<float> features(pictures.size() * backbone->dim());
  const std::size_t batch = std::stoul(argv[4]);
  for (std::size_t begin = 0; begin < pictures.size(); begin += batch) {
    const std::size_t count = std::min(batch, pictures.size() - begin);
    backbone->embed(std::span(pictures).subspan(begin, count),
                    std::span(features).subspan(begin * backbone->dim(), count * backbone->dim()));
  }
  AtomicFile out(argv[3]);
  const std::vector<std::uint64_t> shape{pictures.size(), backbone->dim()};
  out.write(npy_header("<f4", shape));
  out.write(std::as_bytes(std::span(features)));
  out.commit();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
