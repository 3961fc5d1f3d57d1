#pragma once

#include <torch/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backbone/network_plan.hpp"

namespace deepvoro {

struct Convolution;
struct Statistics;
struct Sum;

// What a stage is fed is mixed with itself in another order: share * x + (1 - share) * x[order].
struct Mix {
  std::size_t stage = 0;
  torch::Tensor order;
  double share = 1;
};

struct NamedTensor {
  std::string name;
  torch::Tensor* tensor;
  bool is_parameter;  // else a running statistic
};

// A backbone: pictures [n, 3, height, width] to float32 features [n, dim]. What is in between has
// the type of the pictures, float32 or bfloat16. Parameters have the names that are usual in
// PyTorch, so that weights can be exchanged. Starts in evaluation mode.
class Network {
 public:
  enum class Weights {
    absent,  // shapes only, until every tensor is replaced
    random,  // from torch's generator
  };

  explicit Network(const Architecture& architecture, Weights weights = Weights::random);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network();

  [[nodiscard]] torch::Tensor forward(torch::Tensor pictures,
                                      const std::optional<Mix>& mix = {}) const;

  [[nodiscard]] std::size_t dim() const { return plan_.dim(); }
  [[nodiscard]] std::size_t stages() const { return plan_.stages.size(); }
  [[nodiscard]] const std::vector<NamedTensor>& tensors() const { return tensors_; }
  [[nodiscard]] std::vector<torch::Tensor> parameters() const;

  // In training batches are normalised by their own statistics, and the running ones move towards
  // these by the share `momentum`.
  void set_training(bool training, double momentum = 0.1);
  // Of what the second convolutions of wide blocks are fed, this share is set to 0 in training.
  void set_dropout(double share) { dropout_ = share; }
  void to(torch::Device device);

  // Multiplies normalisations into the convolutions before them. For inference: the statistics are
  // gone afterwards, and so are the names of tensors.
  void fold_normalisations();

  // Keeps the weights of convolutions as they are used for pictures of this type, instead of
  // converting them for each batch. For inference, after folding.
  void convert_convolutions(torch::ScalarType type);

 private:
  friend class NetworkBuilder;
  using Unit = std::variant<std::unique_ptr<Convolution>, std::unique_ptr<Statistics>>;

  [[nodiscard]] Sum run(const PlannedStep& step, std::vector<Sum>& values) const;
  [[nodiscard]] Sum convolve(const PlannedStep& step, const torch::Tensor& x,
                             const torch::Tensor& added) const;

  NetworkPlan plan_;
  std::vector<Unit> units_;
  std::vector<NamedTensor> tensors_;
  torch::Tensor embedding_weight_;
  torch::Tensor embedding_bias_;
  double dropout_ = 0;
  bool is_training_ = false;
};

}  // namespace deepvoro
