#pragma once

#include <cstddef>

namespace {

// Where the dot products of a block go.
struct Output {
  float* first;
  std::size_t center_stride;
  std::size_t query_stride;

  [[nodiscard]] float& at(std::size_t center, std::size_t query) const {
    return first[center * center_stride + query * query_stride];
  }
};

}  // namespace
