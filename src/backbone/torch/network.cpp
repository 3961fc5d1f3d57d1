#include "network.hpp"

#include <cmath>
#include <utility>

#include "convolution.hpp"
#include "device.hpp"

namespace deepvoro {

using torch::Tensor;

namespace {

// Over all places, in float32.
Tensor average(const Tensor& x) {
  if (!x.is_cuda()) return x.mean(torch::IntArrayRef{2, 3}, false, torch::kFloat32);
  // Rows of channels, as they lie in memory: so that gradients lie as x does.
  return x.permute({0, 2, 3, 1}).flatten(1, 2).mean(1, false, torch::kFloat32);
}

Tensor max_pool(const Tensor& x, const PlannedPool& pool) {
  return torch::max_pool2d(x, static_cast<std::int64_t>(pool.side),
                           static_cast<std::int64_t>(pool.stride),
                           static_cast<std::int64_t>(pool.padding));
}

}  // namespace

class NetworkBuilder {
 public:
  NetworkBuilder(Network& network, Network::Weights weights)
      : network_(network), weights_(weights) {}

  void build() {
    for (const PlannedUnit& unit : network_.plan_.units) {
      const auto* convolution = std::get_if<PlannedConvolution>(&unit);
      network_.units_.push_back(convolution != nullptr
                                    ? Network::Unit(make_convolution(*convolution))
                                    : make_rectifier(std::get<PlannedRectifier>(unit)));
    }
    if (network_.plan_.embedding > 0) make_embedding();
  }

 private:
  Tensor make(std::vector<std::int64_t> shape) const {
    const auto device = weights_ == Network::Weights::absent ? torch::kMeta : torch::kCPU;
    return torch::zeros(shape, torch::device(device).dtype(torch::kFloat32));
  }
  void add(std::string name, Tensor& tensor, bool is_parameter) {
    tensor.set_requires_grad(is_parameter);
    network_.tensors_.push_back({std::move(name), &tensor, is_parameter});
  }

  void add_statistics(const std::string& name, Statistics& norm, std::size_t channels) {
    const auto size = static_cast<std::int64_t>(channels);
    norm.weight = make({size}).fill_(1);
    norm.bias = make({size});
    norm.mean = make({size});
    norm.variance = make({size}).fill_(1);
    add(name + ".weight", norm.weight, true);
    add(name + ".bias", norm.bias, true);
    add(name + ".running_mean", norm.mean, false);
    add(name + ".running_var", norm.variance, false);
  }

  std::unique_ptr<Convolution> make_convolution(const PlannedConvolution& plan) {
    auto unit = std::make_unique<Convolution>();
    const auto kernel = static_cast<std::int64_t>(plan.kernel);
    const auto out = static_cast<std::int64_t>(plan.out);
    unit->weight = make({out, static_cast<std::int64_t>(plan.in / plan.groups), kernel, kernel});
    unit->activation = plan.activation;
    unit->stride = static_cast<std::int64_t>(plan.stride);
    unit->padding = kernel / 2;
    unit->groups = static_cast<std::int64_t>(plan.groups);
    if (weights_ == Network::Weights::random) {
      const auto fan_out = static_cast<double>(kernel * kernel * out / unit->groups);
      unit->weight.normal_(0, std::sqrt(2 / fan_out));
    }
    add(plan.name + ".weight", unit->weight, true);
    if (plan.bias) {
      unit->bias = make({out});
      add(plan.name + ".bias", unit->bias, true);
    }
    if (!plan.norm.empty()) add_statistics(plan.norm, unit->norm.emplace(), plan.out);
    return unit;
  }

  std::unique_ptr<Statistics> make_rectifier(const PlannedRectifier& plan) {
    auto norm = std::make_unique<Statistics>();
    add_statistics(plan.name, *norm, plan.channels);
    return norm;
  }

  void make_embedding() {
    const auto out = static_cast<std::int64_t>(network_.plan_.embedding);
    const auto in = static_cast<std::int64_t>(network_.plan_.channels);
    network_.embedding_weight_ = make({out, in});
    network_.embedding_bias_ = make({out});
    if (weights_ == Network::Weights::random)
      network_.embedding_weight_.normal_(0, 1 / std::sqrt(static_cast<double>(in)));
    add("embedding.weight", network_.embedding_weight_, true);
    add("embedding.bias", network_.embedding_bias_, true);
  }

  Network& network_;
  Network::Weights weights_;
};

Network::Network(const Architecture& architecture, Weights weights) : plan_(plan_of(architecture)) {
  NetworkBuilder(*this, weights).build();
}

Network::~Network() = default;

Tensor Network::forward(Tensor pictures, const std::optional<Mix>& mix) const {
  std::vector<Sum> values(plan_.steps.size() + 1);
  values[0].x = std::move(pictures);
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    if (mix && plan_.stages[mix->stage] == i) {
      const Tensor sum = values[i].made();
      values[i] = {sum * mix->share + sum.index_select(0, mix->order) * (1 - mix->share), {}};
    }
    values[i + 1] = run(plan_.steps[i], values);
    for (const std::size_t value : plan_.steps[i].last_of) values[value] = {};
  }
  const Tensor features = average(values.back().made());
  if (!embedding_weight_.defined()) return features;
  return torch::linear(features, embedding_weight_, embedding_bias_);
}

Sum Network::run(const PlannedStep& step, std::vector<Sum>& values) const {
  Sum& x = values[step.x];
  switch (step.kind) {
    case PlannedStep::Kind::convolution:
      return convolve(step, x.made(), step.other ? values[*step.other].made() : Tensor());
    case PlannedStep::Kind::rectifier: {
      const Statistics::Rectified rectified =
          std::get<std::unique_ptr<Statistics>>(units_[step.unit])->rectify(x);
      x = {rectified.x, {}};
      return {rectified.values, {}};
    }
    case PlannedStep::Kind::max_pool:
      return {max_pool(x.made(), step.pool), {}};
    case PlannedStep::Kind::average_pool:
      return {torch::avg_pool2d(x.made(), static_cast<std::int64_t>(step.pool.side)), {}};
    case PlannedStep::Kind::concatenation:
      return {torch::cat({x.made(), values[*step.other].made()}, 1), {}};
  }
  return x;
}

Sum Network::convolve(const PlannedStep& step, const Tensor& x, const Tensor& added) const {
  const auto& plan = std::get<PlannedConvolution>(plan_.units[step.unit]);
  const Convolution& unit = *std::get<std::unique_ptr<Convolution>>(units_[step.unit]);
  const Tensor fed = plan.after_dropout ? torch::dropout(x, dropout_, is_training_) : x;
  // Without an activation the sum is left to whoever needs it: here it would take a pass of its
  // own.
  if (added.defined() && plan.activation == Activation::none) return {unit.apply(fed), added};
  return {unit.apply(fed, added), {}};
}

std::vector<Tensor> Network::parameters() const {
  std::vector<Tensor> parameters;
  for (const NamedTensor& entry : tensors_)
    if (entry.is_parameter) parameters.push_back(*entry.tensor);
  return parameters;
}

void Network::set_training(bool training, double momentum) {
  const auto set = [&](Statistics& norm) {
    norm.training = training;
    norm.momentum = momentum;
  };
  for (const Unit& unit : units_) {
    const auto* convolution = std::get_if<std::unique_ptr<Convolution>>(&unit);
    if (convolution == nullptr)
      set(*std::get<std::unique_ptr<Statistics>>(unit));
    else if ((*convolution)->norm)
      set(*(*convolution)->norm);
  }
  is_training_ = training;
}

void Network::to(torch::Device device) {
  for (const NamedTensor& entry : tensors_)
    *entry.tensor = placed(*entry.tensor, device).set_requires_grad(entry.is_parameter);
}

void Network::fold_normalisations() {
  const torch::NoGradGuard no_gradients;
  for (const Unit& unit : units_)
    if (const auto* convolution = std::get_if<std::unique_ptr<Convolution>>(&unit))
      (*convolution)->fold();
  tensors_.clear();
}

void Network::convert_convolutions(torch::ScalarType type) {
  for (const Unit& unit : units_)
    if (const auto* convolution = std::get_if<std::unique_ptr<Convolution>>(&unit))
      (*convolution)->convert(type);
}

}  // namespace deepvoro
