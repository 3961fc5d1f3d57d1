#include "deepvoro/backbone/architecture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kLargestWidth = 1024;
constexpr std::size_t kLargestEmbedding = 4096;

bool has_imagenet_stem(const std::string& name) {
  return name == "resnet10" || name == "resnet18" || name == "resnet34" || name == "resnet50" ||
         name == "densenet121" || name == "mobilenet";
}

}  // namespace

const std::vector<std::string>& architecture_names() {
  static const std::vector<std::string> names{"conv4",     "resnet10",    "resnet12",
                                              "resnet18",  "resnet34",    "resnet50",
                                              "wrn-28-10", "densenet121", "mobilenet"};
  return names;
}

void check(const Architecture& architecture) {
  const auto& [name, widths, embedding, imagenet_stem, first_stride] = architecture;
  if (std::ranges::find(architecture_names(), name) == architecture_names().end())
    throw usage_error(fmt::format("'{}' is not a network; use one of {}", name,
                                  fmt::join(architecture_names(), ", ")));
  if (!widths.empty() && name != "conv4")
    throw usage_error(fmt::format("{} has fixed widths; only those of conv4 can be chosen", name));
  if (!widths.empty() && widths.size() != kConv4Blocks)
    throw usage_error(
        fmt::format("conv4 has {} blocks, but {} widths are given", kConv4Blocks, widths.size()));
  for (const std::size_t width : widths)
    if (width == 0 || width > kLargestWidth)
      throw usage_error(
          fmt::format("a block of conv4 has 1 to {} channels, not {}", kLargestWidth, width));
  if (embedding > kLargestEmbedding)
    throw usage_error(fmt::format("an embedding has at most {} dimensions, not {}",
                                  kLargestEmbedding, embedding));
  if (imagenet_stem && !has_imagenet_stem(name))
    throw usage_error(fmt::format("{} has no variant with ImageNet's first convolution", name));
  if (first_stride != 1 && first_stride != 2)
    throw usage_error(fmt::format("`first_stride` is 1 or 2, not {}", first_stride));
  if (imagenet_stem && first_stride != 1)
    throw usage_error("`first_stride` of ImageNet's first convolution cannot be chosen");
}

std::size_t smallest_input(const Architecture& architecture) {
  const std::size_t stride = architecture.first_stride;
  if (architecture.name == "conv4" || architecture.name == "resnet12") return 16 * stride;
  if (architecture.name == "densenet121") return architecture.imagenet_stem ? 32 : 8 * stride;
  return 1;
}

std::size_t feature_count(const Architecture& architecture) {
  const std::string& name = architecture.name;
  if (architecture.embedding > 0) return architecture.embedding;
  if (name == "conv4") return architecture.widths.empty() ? 64 : architecture.widths.back();
  if (name == "resnet12" || name == "wrn-28-10") return 640;
  if (name == "densenet121" || name == "mobilenet") return 1024;
  return name == "resnet50" ? 2048 : 512;
}

}  // namespace deepvoro
