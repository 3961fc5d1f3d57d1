#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backbone/model_file.hpp"
#include "backbone/network_plan.hpp"
#include "convolution.hpp"
#include "deepvoro/picture/bitmap.hpp"
#include "workspace.hpp"

namespace deepvoro::native {

// A network of a model file, which stays mapped. Any number of threads may run it at the same time,
// each with a workspace of its own.
class Network {
 public:
  Network(const ModelFile& file, unsigned threads);

  [[nodiscard]] std::size_t dim() const { return plan_.dim(); }

  // Features of pictures of one size, [pictures x dim]. Those of a picture do not depend on the
  // others.
  void run(std::span<const Bitmap> pictures, Workspace& work, std::span<float> features) const;

 private:
  struct Rectifier {
    std::vector<float> factors;
    std::vector<float> shifts;
  };
  struct Unit {
    std::unique_ptr<Convolution> convolution;
    Rectifier rectifier;
  };

  void run_some(std::span<const Bitmap> pictures, Workspace& work, float* features) const;
  void feed(std::span<const Bitmap> pictures, Workspace& work, Maps& to) const;
  void run_step(const PlannedStep& step, const Maps& x, const Maps* other, Workspace& work,
                Maps& to) const;

  NetworkPlan plan_;
  std::vector<Unit> units_;
  std::unique_ptr<Convolution> embedding_;
  std::array<std::array<float, 256>, 3> scaled_;  // what bytes become, of each channel
};

}  // namespace deepvoro::native
