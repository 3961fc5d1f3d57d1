// embed_pictures MODEL [PICTURES.npy FEATURES.npy BATCH]...: what the library makes of pictures, in
// float32.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "deepvoro/backbone/backbone.hpp"
#include "features/npy.hpp"
#include "pictures_of_npy.hpp"

int main(int argc, char** argv) try {
  using namespace deepvoro;
  if (argc < 5 || argc % 3 != 2) return 2;
  std::unique_ptr<Backbone> backbone;
  std::size_t size = 0;
  for (int i = 2; i < argc; i += 3) {
    const std::vector<Bitmap> pictures = test::pictures_of_npy(argv[i]);
    if (pictures.at(0).width != size) {
      size = pictures[0].width;
      backbone = open_network(argv[1], {.threads = 2, .device = "cpu", .input_size = size});
    }
    std::vector<float> features(pictures.size() * backbone->dim());
    const std::size_t batch = std::stoul(argv[i + 2]);
    for (std::size_t begin = 0; begin < pictures.size(); begin += batch) {
      const std::size_t count = std::min(batch, pictures.size() - begin);
      backbone->embed(
          std::span(pictures).subspan(begin, count),
          std::span(features).subspan(begin * backbone->dim(), count * backbone->dim()));
    }
    AtomicFile out(argv[i + 1]);
    const std::vector<std::uint64_t> shape{pictures.size(), backbone->dim()};
    out.write(npy_header("<f4", shape));
    out.write(std::as_bytes(std::span(features)));
    out.commit();
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
