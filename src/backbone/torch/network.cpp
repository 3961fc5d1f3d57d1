#include "network.hpp"

#include <ATen/Parallel.h>

#include <array>
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

}  // namespace

class NetworkBuilder {
 public:
  using Step = Network::Step;
  using Unit = std::shared_ptr<Convolution>;

  NetworkBuilder(Network& network, Network::Weights weights)
      : network_(network), weights_(weights) {}

  void build(const Architecture& architecture) {
    const std::string& name = architecture.name;
    first_stride_ = architecture.first_stride;
    if (name == "conv4") conv4(architecture.widths);
    if (name == "resnet10") resnet({1, 1, 1, 1}, architecture.imagenet_stem);
    if (name == "resnet12") resnet12();
    if (name == "resnet18") resnet({2, 2, 2, 2}, architecture.imagenet_stem);
    if (name == "resnet34") resnet({3, 4, 6, 3}, architecture.imagenet_stem);
    if (name == "resnet50") resnet({3, 4, 6, 3}, architecture.imagenet_stem, Block::bottleneck);
    if (name == "wrn-28-10") wide_resnet();
    if (name == "densenet121") densenet(architecture.imagenet_stem);
    if (name == "mobilenet") mobilenet(architecture.imagenet_stem);
    if (architecture.embedding > 0) embedding(architecture.embedding);
  }

 private:
  struct Shape {
    std::size_t in;
    std::size_t out;
    std::size_t kernel = 3;
    std::size_t stride = 1;
    std::size_t groups = 1;
    bool bias = false;
  };

  void add_stage(std::vector<Step> steps) { network_.stages_.push_back(std::move(steps)); }

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

  // A step that has no use for the parts of a sum.
  template <class Function>
  static Step step(Function function) {
    return [function = std::move(function)](const Sum& x) -> Sum {
      return {function(x.made()), {}};
    };
  }

  static Step alone(Unit unit) {
    return step([unit = std::move(unit)](const Tensor& x) { return unit->apply(x); });
  }

  Unit convolution(const std::string& name, const std::string& norm_name, const Shape& shape,
                   Activation activation) {
    auto unit = std::make_shared<Convolution>();
    const auto kernel = static_cast<std::int64_t>(shape.kernel);
    const auto out = static_cast<std::int64_t>(shape.out);
    unit->weight = make({out, static_cast<std::int64_t>(shape.in / shape.groups), kernel, kernel});
    unit->activation = activation;
    unit->stride = static_cast<std::int64_t>(shape.stride);
    unit->padding = kernel / 2;
    unit->groups = static_cast<std::int64_t>(shape.groups);
    if (weights_ == Network::Weights::random) {
      const auto fan_out = static_cast<double>(kernel * kernel * out / unit->groups);
      unit->weight.normal_(0, std::sqrt(2 / fan_out));
    }
    add(name + ".weight", unit->weight, true);
    if (shape.bias) {
      unit->bias = make({out});
      add(name + ".bias", unit->bias, true);
    }
    if (!norm_name.empty()) add_statistics(norm_name, unit->norm.emplace(), shape.out);
    network_.convolutions_.push_back(unit);
    network_.dim_ = shape.out;
    return unit;
  }

  // Normalisation and activation before a convolution, as wide and dense networks have them.
  std::shared_ptr<const Statistics> rectifier(const std::string& name, std::size_t channels) {
    auto norm = std::make_shared<Statistics>();
    add_statistics(name, *norm, channels);
    network_.rectifiers_.push_back(norm);
    network_.dim_ = channels;
    return norm;
  }

  static Step alone(std::shared_ptr<const Statistics> norm) {
    return [norm = std::move(norm)](const Sum& x) -> Sum { return {norm->rectify(x).values, {}}; };
  }

  static Step max_pool() {
    return step([](const Tensor& x) { return torch::max_pool2d(x, 2); });
  }

  void embedding(std::size_t dimensions) {
    const auto out = static_cast<std::int64_t>(dimensions);
    const auto in = static_cast<std::int64_t>(network_.dim_);
    network_.embedding_weight_ = make({out, in});
    network_.embedding_bias_ = make({out});
    if (weights_ == Network::Weights::random)
      network_.embedding_weight_.normal_(0, 1 / std::sqrt(static_cast<double>(in)));
    add("embedding.weight", network_.embedding_weight_, true);
    add("embedding.bias", network_.embedding_bias_, true);
    network_.dim_ = dimensions;
  }

  // Four times 3x3 convolution, normalisation, ReLU and pooling (Vinyals 2016).
  void conv4(std::vector<std::size_t> widths) {
    if (widths.empty()) widths.assign(kConv4Blocks, 64);
    std::size_t in = 3;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string name = "trunk." + std::to_string(i);
      add_stage(
          {alone(convolution(
               name + ".C", name + ".BN",
               {.in = in, .out = widths[i], .stride = i == 0 ? first_stride_ : 1, .bias = true},
               Activation::relu)),
           max_pool()});
      in = widths[i];
    }
  }

  // 3x3 for small pictures; 7x7 with stride 2 and pooling for those of ImageNet.
  std::vector<Step> stem(const std::string& name, const std::string& norm_name, bool imagenet) {
    const Shape shape{.in = 3,
                      .out = 64,
                      .kernel = imagenet ? std::size_t{7} : 3,
                      .stride = imagenet ? 2 : first_stride_};
    std::vector<Step> steps{alone(convolution(name, norm_name, shape, Activation::relu))};
    if (imagenet)
      steps.push_back(step([](const Tensor& x) { return torch::max_pool2d(x, 3, 2, 1); }));
    return steps;
  }

  enum class Block { basic, bottleneck };

  // He 2016.
  void resnet(const std::array<std::size_t, 4>& blocks, bool imagenet_stem,
              Block kind = Block::basic) {
    std::vector<Step> steps = stem("conv1", "bn1", imagenet_stem);
    std::size_t in = 64;
    for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
      const std::size_t width = std::size_t{64} << layer;
      const std::size_t out = kind == Block::basic ? width : 4 * width;
      for (std::size_t block = 0; block < blocks[layer]; ++block) {
        const std::string name = block_name("layer", layer, block);
        const std::size_t stride = block == 0 && layer > 0 ? 2 : 1;
        steps.push_back(kind == Block::basic ? basic_block(name, in, out, stride)
                                             : bottleneck(name, in, width, out, stride));
        in = out;
      }
      add_stage(std::exchange(steps, {}));
    }
  }

  static std::string block_name(const char* layers, std::size_t layer, std::size_t block) {
    return layers + std::to_string(layer + 1) + "." + std::to_string(block);
  }

  Step basic_block(const std::string& name, std::size_t in, std::size_t out, std::size_t stride) {
    const Unit first = convolution(name + ".conv1", name + ".bn1",
                                   {.in = in, .out = out, .stride = stride}, Activation::relu);
    const Unit second =
        convolution(name + ".conv2", name + ".bn2", {.in = out, .out = out}, Activation::relu);
    return residual(name, [=](const Tensor& x) { return first->apply(x); }, second,
                    {.in = in, .out = out, .stride = stride});
  }

  // With the stride in the first convolution, as in the paper; torchvision has it in the second.
  Step bottleneck(const std::string& name, std::size_t in, std::size_t width, std::size_t out,
                  std::size_t stride) {
    const Unit first =
        convolution(name + ".conv1", name + ".bn1",
                    {.in = in, .out = width, .kernel = 1, .stride = stride}, Activation::relu);
    const Unit second =
        convolution(name + ".conv2", name + ".bn2", {.in = width, .out = width}, Activation::relu);
    const Unit third = convolution(name + ".conv3", name + ".bn3",
                                   {.in = width, .out = out, .kernel = 1}, Activation::relu);
    return residual(name, [=](const Tensor& x) { return second->apply(first->apply(x)); }, third,
                    {.in = in, .out = out, .stride = stride});
  }

  template <class Function>
  Step residual(const std::string& name, const Function& before, const Unit& last,
                const Shape& shape) {
    Unit shortcut;
    if (shape.stride != 1 || shape.in != shape.out)
      shortcut = downsample(name, shape.in, shape.out, shape.stride);
    return step(
        [=](const Tensor& x) { return last->apply(before(x), shortcut ? shortcut->apply(x) : x); });
  }

  Unit downsample(const std::string& name, std::size_t in, std::size_t out, std::size_t stride) {
    return convolution(name + ".downsample.0", name + ".downsample.1",
                       {.in = in, .out = out, .kernel = 1, .stride = stride}, Activation::none);
  }

  // Four residual blocks of three convolutions, as few-shot learning has them (Lee 2019).
  void resnet12() {
    constexpr std::array<std::size_t, 4> widths{64, 160, 320, 640};
    std::size_t in = 3;
    for (std::size_t layer = 0; layer < widths.size(); ++layer) {
      const std::string name = block_name("layer", layer, 0);
      const std::size_t out = widths[layer];
      const std::size_t stride = layer == 0 ? first_stride_ : 1;
      const Unit first = convolution(name + ".conv1", name + ".bn1",
                                     {.in = in, .out = out, .stride = stride}, Activation::leaky);
      const Unit second =
          convolution(name + ".conv2", name + ".bn2", {.in = out, .out = out}, Activation::leaky);
      const Unit third =
          convolution(name + ".conv3", name + ".bn3", {.in = out, .out = out}, Activation::leaky);
      const Unit shortcut = downsample(name, in, out, stride);
      add_stage({step([=](const Tensor& x) {
                   return third->apply(second->apply(first->apply(x)), shortcut->apply(x));
                 }),
                 max_pool()});
      in = out;
    }
  }

  // Zagoruyko 2016, the backbone of S2M2. With stride 2 the first convolution has four times the
  // channels, so that it can keep what four pixels show.
  void wide_resnet() {
    constexpr std::array<std::size_t, 3> widths{160, 320, 640};
    constexpr std::size_t blocks = 4;
    std::size_t in = 16 * first_stride_ * first_stride_;
    std::vector<Step> steps{alone(
        convolution("conv1", "", {.in = 3, .out = in, .stride = first_stride_}, Activation::none))};
    for (std::size_t layer = 0; layer < widths.size(); ++layer) {
      for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t stride = block == 0 && layer > 0 ? 2 : 1;
        steps.push_back(
            wide_block("block" + std::to_string(layer + 1) + ".layer." + std::to_string(block), in,
                       widths[layer], stride));
        in = widths[layer];
      }
      add_stage(std::exchange(steps, {}));
    }
    add_stage({alone(rectifier("bn1", in))});  // a stage of its own: S2M2 also mixes before it
  }

  Step wide_block(const std::string& name, std::size_t in, std::size_t out, std::size_t stride) {
    const auto before = rectifier(name + ".bn1", in);
    const Unit first = convolution(name + ".conv1", name + ".bn2",
                                   {.in = in, .out = out, .stride = stride}, Activation::relu);
    const Unit second = convolution(name + ".conv2", "", {.in = out, .out = out}, Activation::none);
    Unit shortcut;
    if (in != out)
      shortcut =
          convolution(name + ".convShortcut", "",
                      {.in = in, .out = out, .kernel = 1, .stride = stride}, Activation::none);
    return [=, dropout = network_.dropout_](const Sum& x) {
      const Statistics::Rectified rectified = before->rectify(x);
      const Tensor inner =
          torch::dropout(first->apply(rectified.values), dropout->share, dropout->training);
      return second->apply_without_adding(
          inner, shortcut ? shortcut->apply(rectified.values) : rectified.x);
    };
  }

  // Huang 2017.
  void densenet(bool imagenet_stem) {
    constexpr std::array<std::size_t, 4> blocks{6, 12, 24, 16};
    constexpr std::size_t growth = 32;
    std::size_t channels = 64;
    std::vector<Step> steps = stem("features.conv0", "features.norm0", imagenet_stem);
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      const std::string number = std::to_string(block + 1);
      for (std::size_t layer = 0; layer < blocks[block]; ++layer) {
        steps.push_back(
            dense_layer("features.denseblock" + number + ".denselayer" + std::to_string(layer + 1),
                        channels, growth));
        channels += growth;
      }
      if (block + 1 == blocks.size()) break;
      const std::string transition = "features.transition" + number;
      steps.push_back(alone(rectifier(transition + ".norm", channels)));
      steps.push_back(
          alone(convolution(transition + ".conv", "",
                            {.in = channels, .out = channels / 2, .kernel = 1}, Activation::none)));
      steps.push_back(step([](const Tensor& x) { return torch::avg_pool2d(x, 2); }));
      channels /= 2;
      add_stage(std::exchange(steps, {}));
    }
    steps.push_back(alone(rectifier("features.norm5", channels)));
    add_stage(std::move(steps));
  }

  Step dense_layer(const std::string& name, std::size_t in, std::size_t growth) {
    const std::size_t inner = 4 * growth;
    const auto before = rectifier(name + ".norm1", in);
    const Unit first = convolution(name + ".conv1", name + ".norm2",
                                   {.in = in, .out = inner, .kernel = 1}, Activation::relu);
    const Unit second =
        convolution(name + ".conv2", "", {.in = inner, .out = growth}, Activation::none);
    return [=](const Sum& x) -> Sum {
      const Statistics::Rectified rectified = before->rectify(x);
      return {torch::cat({rectified.x, second->apply(first->apply(rectified.values))}, 1), {}};
    };
  }

  // Howard 2017: depthwise and pointwise convolutions in turn.
  void mobilenet(bool imagenet_stem) {
    struct Layer {
      std::size_t out;
      std::size_t stride;
    };
    constexpr std::array<Layer, 13> blocks{{{64, 1},
                                            {128, 2},
                                            {128, 1},
                                            {256, 2},
                                            {256, 1},
                                            {512, 2},
                                            {512, 1},
                                            {512, 1},
                                            {512, 1},
                                            {512, 1},
                                            {512, 1},
                                            {1024, 2},
                                            {1024, 1}}};
    std::size_t in = 32;
    std::vector<Step> steps{alone(convolution(
        "features.0.0", "features.0.1",
        {.in = 3, .out = in, .stride = imagenet_stem ? 2 : first_stride_}, Activation::relu))};
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto [out, stride] = blocks[i];
      if (stride == 2) add_stage(std::exchange(steps, {}));
      const std::string name = "features." + std::to_string(i + 1);
      steps.push_back(alone(convolution(name + ".0", name + ".1",
                                        {.in = in, .out = in, .stride = stride, .groups = in},
                                        Activation::relu)));
      steps.push_back(alone(convolution(name + ".3", name + ".4",
                                        {.in = in, .out = out, .kernel = 1}, Activation::relu)));
      in = out;
    }
    add_stage(std::move(steps));
  }

  Network& network_;
  Network::Weights weights_;
  std::size_t first_stride_ = 1;
};

Network::Network(const Architecture& architecture, Weights weights) {
  check(architecture);
  NetworkBuilder(*this, weights).build(architecture);
}

Network::~Network() = default;

Tensor Network::forward(Tensor pictures, const std::optional<Mix>& mix) const {
  Sum x{std::move(pictures), {}};
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    if (mix && mix->stage == stage) {
      const Tensor sum = x.made();
      x = {sum * mix->share + sum.index_select(0, mix->order) * (1 - mix->share), {}};
    }
    for (const Step& step : stages_[stage]) x = step(x);
  }
  const Tensor features = average(x.made());
  if (!embedding_weight_.defined()) return features;
  return torch::linear(features, embedding_weight_, embedding_bias_);
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
  for (const auto& unit : convolutions_)
    if (unit->norm) set(*unit->norm);
  for (const auto& norm : rectifiers_) set(*norm);
  dropout_->training = training;
}

void Network::to(torch::Device device) {
  for (const NamedTensor& entry : tensors_)
    *entry.tensor = placed(*entry.tensor, device).set_requires_grad(entry.is_parameter);
}

void Network::fold_normalisations() {
  const torch::NoGradGuard no_gradients;
  for (const auto& unit : convolutions_) unit->fold();
  tensors_.clear();
}

void Network::prepare_convolutions(torch::ScalarType type) {
  const auto count = static_cast<std::int64_t>(convolutions_.size());
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    const torch::NoGradGuard no_gradients;
    for (std::int64_t i = begin; i < end; ++i)
      convolutions_[static_cast<std::size_t>(i)]->prepare(type);
  });
}

}  // namespace deepvoro
