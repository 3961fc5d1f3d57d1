#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "deepvoro/core/matrix_view.hpp"

namespace deepvoro {

// Samples with a class and a name each, seen in several views.
struct NamedSamples {
  std::vector<std::string> classes;       // names; no two may differ by case alone
  std::vector<std::size_t> labels;        // [samples], index into classes
  std::vector<std::string> names = {};    // [samples], each once in its class; empty: numbered
  std::vector<std::vector<float>> views;  // [views] of [samples x dim], row by row
  std::size_t dim = 0;                    // features of a sample in one view

  // Each view as a matrix. Refers to this.
  [[nodiscard]] std::vector<MatrixView<const float>> rows() const {
    std::vector<MatrixView<const float>> all;
    for (const std::vector<float>& view : views)
      all.emplace_back(view.data(), dim == 0 ? 0 : view.size() / dim, dim);
    return all;
  }
};

}  // namespace deepvoro
