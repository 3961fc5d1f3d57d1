#include "network_plan.hpp"

#include <array>
#include <utility>

namespace deepvoro {
namespace {

using Value = std::size_t;

class Planner {
 public:
  NetworkPlan plan(const Architecture& architecture) {
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
    plan_.embedding = architecture.embedding;
    note_last_uses();
    return std::move(plan_);
  }

 private:
  using Kind = PlannedStep::Kind;
  using Unit = std::size_t;

  void begin_stage() { plan_.stages.push_back(plan_.steps.size()); }

  Unit unit(PlannedUnit unit) {
    plan_.units.push_back(std::move(unit));
    return plan_.units.size() - 1;
  }

  Value add(PlannedStep step) {
    plan_.steps.push_back(std::move(step));
    return plan_.steps.size();
  }

  Value convolve(Unit unit, Value x, std::optional<Value> added = {}) {
    plan_.channels = std::get<PlannedConvolution>(plan_.units[unit]).out;
    return add({.kind = Kind::convolution, .x = x, .other = added, .unit = unit});
  }
  Value convolve(PlannedConvolution convolution, Value x) {
    return convolve(unit(std::move(convolution)), x);
  }

  Value rectify(Unit unit, Value x) {
    plan_.channels = std::get<PlannedRectifier>(plan_.units[unit]).channels;
    return add({.kind = Kind::rectifier, .x = x, .other = {}, .unit = unit});
  }

  Value max_pool(Value x, PlannedPool pool = {}) {
    return add({.kind = Kind::max_pool, .x = x, .other = {}, .pool = pool});
  }

  // Four times 3x3 convolution, normalisation, ReLU and pooling (Vinyals 2016).
  void conv4(std::vector<std::size_t> widths) {
    if (widths.empty()) widths.assign(kConv4Blocks, 64);
    std::size_t in = 3;
    Value x = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string name = "trunk." + std::to_string(i);
      begin_stage();
      x = max_pool(convolve({.name = name + ".C",
                             .norm = name + ".BN",
                             .in = in,
                             .out = widths[i],
                             .stride = i == 0 ? first_stride_ : 1,
                             .bias = true},
                            x));
      in = widths[i];
    }
  }

  // 3x3 for small pictures; 7x7 with stride 2 and pooling for those of ImageNet.
  Value stem(const std::string& name, const std::string& norm, bool imagenet) {
    const Value x = convolve({.name = name,
                              .norm = norm,
                              .in = 3,
                              .out = 64,
                              .kernel = imagenet ? std::size_t{7} : 3,
                              .stride = imagenet ? 2 : first_stride_},
                             0);
    return imagenet ? max_pool(x, {.side = 3, .stride = 2, .padding = 1}) : x;
  }

  enum class Block { basic, bottleneck };

  // He 2016.
  void resnet(const std::array<std::size_t, 4>& blocks, bool imagenet_stem,
              Block kind = Block::basic) {
    begin_stage();
    Value x = stem("conv1", "bn1", imagenet_stem);
    std::size_t in = 64;
    for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
      const std::size_t width = std::size_t{64} << layer;
      const std::size_t out = kind == Block::basic ? width : 4 * width;
      if (layer > 0) begin_stage();
      for (std::size_t block = 0; block < blocks[layer]; ++block) {
        const std::string name = block_name("layer", layer, block);
        const std::size_t stride = block == 0 && layer > 0 ? 2 : 1;
        x = kind == Block::basic ? basic_block(name, x, in, out, stride)
                                 : bottleneck(name, x, in, width, out, stride);
        in = out;
      }
    }
  }

  static std::string block_name(const char* layers, std::size_t layer, std::size_t block) {
    return layers + std::to_string(layer + 1) + "." + std::to_string(block);
  }

  Value basic_block(const std::string& name, Value x, std::size_t in, std::size_t out,
                    std::size_t stride) {
    const Unit first = unit(PlannedConvolution{
        .name = name + ".conv1", .norm = name + ".bn1", .in = in, .out = out, .stride = stride});
    const Unit second = unit(
        PlannedConvolution{.name = name + ".conv2", .norm = name + ".bn2", .in = out, .out = out});
    const Value shortcut = shortcut_where_shapes_differ(name, x, in, out, stride);
    return convolve(second, convolve(first, x), shortcut);
  }

  // With the stride in the first convolution, as in the paper; torchvision has it in the second.
  Value bottleneck(const std::string& name, Value x, std::size_t in, std::size_t width,
                   std::size_t out, std::size_t stride) {
    const Unit first = unit(PlannedConvolution{.name = name + ".conv1",
                                               .norm = name + ".bn1",
                                               .in = in,
                                               .out = width,
                                               .kernel = 1,
                                               .stride = stride});
    const Unit second = unit(PlannedConvolution{
        .name = name + ".conv2", .norm = name + ".bn2", .in = width, .out = width});
    const Unit third = unit(PlannedConvolution{
        .name = name + ".conv3", .norm = name + ".bn3", .in = width, .out = out, .kernel = 1});
    const Value shortcut = shortcut_where_shapes_differ(name, x, in, out, stride);
    return convolve(third, convolve(second, convolve(first, x)), shortcut);
  }

  Value shortcut_where_shapes_differ(const std::string& name, Value x, std::size_t in,
                                     std::size_t out, std::size_t stride) {
    return stride == 1 && in == out ? x : downsample(name, x, in, out, stride);
  }

  Value downsample(const std::string& name, Value x, std::size_t in, std::size_t out,
                   std::size_t stride) {
    return convolve({.name = name + ".downsample.0",
                     .norm = name + ".downsample.1",
                     .in = in,
                     .out = out,
                     .kernel = 1,
                     .stride = stride,
                     .activation = Activation::none},
                    x);
  }

  // Four residual blocks of three convolutions, as few-shot learning has them (Lee 2019).
  void resnet12() {
    constexpr std::array<std::size_t, 4> widths{64, 160, 320, 640};
    std::size_t in = 3;
    Value x = 0;
    for (std::size_t layer = 0; layer < widths.size(); ++layer) {
      begin_stage();
      const std::string name = block_name("layer", layer, 0);
      const std::size_t out = widths[layer];
      const std::size_t stride = layer == 0 ? first_stride_ : 1;
      const auto leaky = [&](const char* number, std::size_t from, std::size_t step) {
        return unit(PlannedConvolution{.name = name + ".conv" + number,
                                       .norm = name + ".bn" + number,
                                       .in = from,
                                       .out = out,
                                       .stride = step,
                                       .activation = Activation::leaky});
      };
      const Unit first = leaky("1", in, stride);
      const Unit second = leaky("2", out, 1);
      const Unit third = leaky("3", out, 1);
      const Value shortcut = downsample(name, x, in, out, stride);
      x = max_pool(convolve(third, convolve(second, convolve(first, x)), shortcut));
      in = out;
    }
  }

  // Zagoruyko 2016, the backbone of S2M2. With stride 2 the first convolution has four times the
  // channels, so that it can keep what four pixels show.
  void wide_resnet() {
    constexpr std::array<std::size_t, 3> widths{160, 320, 640};
    constexpr std::size_t blocks = 4;
    std::size_t in = 16 * first_stride_ * first_stride_;
    begin_stage();
    Value x = convolve({.name = "conv1",
                        .in = 3,
                        .out = in,
                        .stride = first_stride_,
                        .activation = Activation::none},
                       0);
    for (std::size_t layer = 0; layer < widths.size(); ++layer) {
      if (layer > 0) begin_stage();
      for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t stride = block == 0 && layer > 0 ? 2 : 1;
        x = wide_block("block" + std::to_string(layer + 1) + ".layer." + std::to_string(block), x,
                       in, widths[layer], stride);
        in = widths[layer];
      }
    }
    begin_stage();  // of its own: S2M2 also mixes before it
    rectify(unit(PlannedRectifier{"bn1", in}), x);
  }

  Value wide_block(const std::string& name, Value x, std::size_t in, std::size_t out,
                   std::size_t stride) {
    const Value before = rectify(unit(PlannedRectifier{name + ".bn1", in}), x);
    const Unit first = unit(PlannedConvolution{
        .name = name + ".conv1", .norm = name + ".bn2", .in = in, .out = out, .stride = stride});
    const Unit second = unit(PlannedConvolution{.name = name + ".conv2",
                                                .in = out,
                                                .out = out,
                                                .activation = Activation::none,
                                                .after_dropout = true});
    Value shortcut = x;
    if (in != out)
      shortcut = convolve({.name = name + ".convShortcut",
                           .in = in,
                           .out = out,
                           .kernel = 1,
                           .stride = stride,
                           .activation = Activation::none},
                          before);
    return convolve(second, convolve(first, before), shortcut);
  }

  // Huang 2017.
  void densenet(bool imagenet_stem) {
    constexpr std::array<std::size_t, 4> blocks{6, 12, 24, 16};
    constexpr std::size_t growth = 32;
    std::size_t channels = 64;
    begin_stage();
    Value x = stem("features.conv0", "features.norm0", imagenet_stem);
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      if (block > 0) begin_stage();
      const std::string number = std::to_string(block + 1);
      for (std::size_t layer = 0; layer < blocks[block]; ++layer) {
        x = dense_layer("features.denseblock" + number + ".denselayer" + std::to_string(layer + 1),
                        x, channels, growth);
        channels += growth;
      }
      if (block + 1 == blocks.size()) break;
      const std::string transition = "features.transition" + number;
      const Value before = rectify(unit(PlannedRectifier{transition + ".norm", channels}), x);
      const Value fewer = convolve({.name = transition + ".conv",
                                    .in = channels,
                                    .out = channels / 2,
                                    .kernel = 1,
                                    .activation = Activation::none},
                                   before);
      x = add({.kind = Kind::average_pool, .x = fewer, .other = {}});
      channels /= 2;
    }
    rectify(unit(PlannedRectifier{"features.norm5", channels}), x);
  }

  Value dense_layer(const std::string& name, Value x, std::size_t in, std::size_t growth) {
    const std::size_t inner = 4 * growth;
    const Value before = rectify(unit(PlannedRectifier{name + ".norm1", in}), x);
    const Value narrow = convolve(
        {.name = name + ".conv1", .norm = name + ".norm2", .in = in, .out = inner, .kernel = 1},
        before);
    const Value grown = convolve(
        {.name = name + ".conv2", .in = inner, .out = growth, .activation = Activation::none},
        narrow);
    return add({.kind = Kind::concatenation, .x = x, .other = grown});
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
    begin_stage();
    Value x = convolve({.name = "features.0.0",
                        .norm = "features.0.1",
                        .in = 3,
                        .out = in,
                        .stride = imagenet_stem ? 2 : first_stride_},
                       0);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto [out, stride] = blocks[i];
      if (stride == 2) begin_stage();
      const std::string name = "features." + std::to_string(i + 1);
      x = convolve({.name = name + ".0",
                    .norm = name + ".1",
                    .in = in,
                    .out = in,
                    .stride = stride,
                    .groups = in},
                   x);
      x = convolve({.name = name + ".3", .norm = name + ".4", .in = in, .out = out, .kernel = 1},
                   x);
      in = out;
    }
  }

  void note_last_uses() {
    std::vector<std::size_t> last(plan_.steps.size() + 1, plan_.steps.size());
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      last[plan_.steps[i].x] = i;
      if (plan_.steps[i].other) last[*plan_.steps[i].other] = i;
    }
    for (Value value = 0; value < last.size(); ++value)
      if (last[value] < plan_.steps.size()) plan_.steps[last[value]].last_of.push_back(value);
  }

  NetworkPlan plan_;
  std::size_t first_stride_ = 1;
};

}  // namespace

float slope(Activation activation) {
  switch (activation) {
    case Activation::none:
      return 1;
    case Activation::relu:
      return 0;
    case Activation::leaky:
      return 0.1F;
  }
  return 1;
}

NetworkPlan plan_of(const Architecture& architecture) {
  check(architecture);
  return Planner().plan(architecture);
}

}  // namespace deepvoro
