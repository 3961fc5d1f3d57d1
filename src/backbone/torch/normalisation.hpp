#pragma once

#include <torch/types.h>

namespace deepvoro {

// Whoever needs the sum makes it, together with what else is to be done to it.
struct Sum {
  torch::Tensor x;
  torch::Tensor added;  // if there is any

  [[nodiscard]] torch::Tensor made() const { return added.defined() ? x + added : x; }
};

// A normalisation of a batch, by the statistics of the batch in training and by running ones else.
struct Statistics {
  torch::Tensor weight;
  torch::Tensor bias;
  torch::Tensor mean;
  torch::Tensor variance;
  bool training = false;
  double momentum = 0;

  [[nodiscard]] torch::Tensor apply(const torch::Tensor& x) const;

  // x normalised and rectified; and x again, for whoever needs both: their gradients then come
  // together in the pass that is made anyway.
  struct Rectified {
    torch::Tensor values;
    torch::Tensor x;
  };
  [[nodiscard]] Rectified rectify(const Sum& x) const;
};

}  // namespace deepvoro
