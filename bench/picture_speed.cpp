// Decodes pictures and resizes them to a square on one thread, as bench/picture_speed.py needs it:
//   deepvoro_picture_bench SIDE LEAST_SIDE RUNS ANSWERS FILE...
// LEAST_SIDE is that of decode_picture(); 0 stands for all pixels.
// Prints "decode_seconds" and "seconds", processor time, of the best run over all files, which are
// in memory before, and writes the resized pixels of all to ANSWERS.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "deepvoro/picture/decode.hpp"
#include "picture/resize.hpp"

namespace {

using namespace deepvoro;

// Of this thread alone: what else runs on the machine does not count.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Work>
double seconds_of(const std::vector<std::string>& files, Work work) {
  const double start = processor_seconds();
  for (const std::string& file : files) work(std::as_bytes(std::span(file)));
  return processor_seconds() - start;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(stderr, "usage: deepvoro_picture_bench SIDE LEAST_SIDE RUNS ANSWERS FILE...\n");
    return 2;
  }
  const std::size_t side = std::stoul(argv[1]);
  const std::size_t least_side = std::stoul(argv[2]) == 0 ? kAllPixels : std::stoul(argv[2]);
  const int runs = std::stoi(argv[3]);
  std::vector<std::string> files;
  for (int i = 5; i < argc; ++i) files.push_back(read_text(argv[i]));

  const auto decoded = [&](std::span<const std::byte> file) {
    return decode_picture(file, "picture", {}, least_side);
  };
  AtomicFile answers(argv[4]);
  for (const std::string& file : files) {
    const Bitmap small = resized(decoded(std::as_bytes(std::span(file))), side, side);
    answers.write(std::as_bytes(std::span(small.pixels)));
  }
  answers.commit();

  double decode = 1e300;
  double both = 1e300;
  std::size_t pixels = 0;  // used, so that nothing can be left out
  for (int run = 0; run < runs; ++run) {
    decode = std::min(decode, seconds_of(files, [&](std::span<const std::byte> file) {
                        pixels += decoded(file).pixels.size();
                      }));
    both = std::min(both, seconds_of(files, [&](std::span<const std::byte> file) {
                      pixels += resized(decoded(file), side, side).pixels.size();
                    }));
  }
  fmt::print("decode_seconds {}\nseconds {}\npixels {}\n", decode, both, pixels);
  return 0;
}
