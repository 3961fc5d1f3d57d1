// extract_speed MODEL PICTURES.npy FEATURES.npy THREADS: reads a number of passes from each line of
// standard input, makes them over all pictures and prints their seconds.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "deepvoro/backbone/backbone.hpp"
#include "features/npy.hpp"
#include "tests/tools/pictures_of_npy.hpp"

int main(int argc, char** argv) try {
  using namespace deepvoro;
  using Clock = std::chrono::steady_clock;
  if (argc != 5) return 2;
  const std::vector<Bitmap> pictures = test::pictures_of_npy(argv[2]);
  const auto threads = static_cast<unsigned>(std::stoul(argv[4]));
  const auto backbone = open_network(argv[1], {.threads = threads});
  std::vector<float> features(pictures.size() * backbone->dim());
  backbone->embed(pictures, features);
  write_npy(argv[3], "<f4", std::vector<std::uint64_t>{pictures.size(), backbone->dim()},
            std::as_bytes(std::span(features)));
  std::puts("ready");
  std::fflush(stdout);
  for (std::size_t passes = 0; std::cin >> passes;) {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < passes; ++i) backbone->embed(pictures, features);
    fmt::print("{:.6f}\n", std::chrono::duration<double>(Clock::now() - start).count());
    std::fflush(stdout);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
