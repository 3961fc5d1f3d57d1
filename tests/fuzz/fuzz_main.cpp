#include <cstdint>

#include "harness.hpp"

// Called by libFuzzer; a program has one harness.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using deepvoro::fuzz::Harness;
  Harness::all().front().feed(std::as_bytes(std::span(data, size)));
  return 0;
}
