#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backbone/model_file.hpp"
#include "core/sha256.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/classifier/pictures.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/files.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kOfDrawings = "quickdraw-conv4";
constexpr const char* kOfPhotographs = "resnet50";

// So many are looked at, from all parts of the collection.
constexpr std::size_t kMostLookedAt = 64;

std::string short_hash(const std::string& sha256) {
  constexpr std::size_t shown = 12;
  return sha256.substr(0, shown);
}

}  // namespace

bool is_drawing(const Image& image) {
  constexpr std::uint8_t darkest_white = 247;
  constexpr std::uint8_t lightest_black = 8;
  std::size_t white = 0;
  std::size_t black = 0;
  for (std::size_t i = 0; i + 2 < image.pixels.size(); i += 3) {
    const std::uint8_t level = image.pixels[i];
    if (level != image.pixels[i + 1] || level != image.pixels[i + 2]) return false;
    white += level >= darkest_white ? 1U : 0U;
    black += level <= lightest_black ? 1U : 0U;
  }
  return 2 * std::max(white, black) >= image.width * image.height;
}

bool is_coloured(const Image& image) {
  constexpr int weakest = 48;
  std::size_t strong = 0;
  for (std::size_t i = 0; i + 2 < image.pixels.size(); i += 3) {
    const auto [low, high] =
        std::minmax({image.pixels[i], image.pixels[i + 1], image.pixels[i + 2]});
    strong += high - low >= weakest ? 1U : 0U;
  }
  return 10 * strong >= image.width * image.height;
}

std::optional<std::string> warning_of_colours(const FeatureOrigin& origin,
                                              const PictureFeatures& features) {
  if (origin.backbone != kOfDrawings || 2 * features.coloured <= features.pictures.size())
    return std::nullopt;
  return fmt::format(
      "warning: {} of {} pictures have colours, but {} has seen grey drawings alone; for "
      "photographs fit with --backbone {}",
      features.coloured, features.pictures.size(), kOfDrawings, kOfPhotographs);
}

BackboneChoice suitable_backbone(std::span<const NamedPicture> pictures) {
  const std::size_t looked_at = std::min(pictures.size(), kMostLookedAt);
  for (std::size_t i = 0; i < looked_at; ++i) {
    const NamedPicture& picture = pictures[i * pictures.size() / looked_at];
    try {
      if (!is_drawing(picture.read()))
        return {kOfPhotographs,
                fmt::format("the pictures are photographs ({} is not a drawing, grey "
                            "and mostly paper)",
                            picture.where)};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
    }
  }
  return {kOfDrawings, "the pictures are drawings, grey and mostly paper"};
}

OpenedBackbone open_backbone(const std::string& name_or_file, const std::string& device) {
  const fs::path file = backbone_file(name_or_file);
  OpenedBackbone opened{.file = file,
                        .device = device,
                        .network = backbone_library().open(file, {.device = device}),
                        .origin = {}};
  // A name stays a name; a file has to be found from anywhere.
  opened.origin.backbone = file == fs::path(name_or_file)
                               ? fs::absolute(file).lexically_normal().string()
                               : name_or_file;
  opened.origin.sha256 = sha256_hex(MappedFile(file).bytes());
  opened.origin.description_json =
      is_torchscript(file)
          ? json{{"format", "torchscript"}, {"input_size", opened.network->input_size()}}.dump()
          : description_json(description_of(file));
  return opened;
}

OpenedBackbone open_backbone_of(const Classifier& classifier, const std::string& elsewhere,
                                const std::string& device) {
  const FeatureOrigin& origin = classifier.origin();
  if (origin.backbone.empty() && elsewhere.empty())
    throw data_error(
        "the classifier was fitted on a feature store, so it takes a feature store; for pictures "
        "name the model that made its features with --backbone");
  const std::string& name = elsewhere.empty() ? origin.backbone : elsewhere;
  if (const fs::path file = name; file.is_absolute() && !fs::exists(file))
    throw data_error(fmt::format(
        "{}: the backbone that made the classifier's features is not there; name its place with "
        "--backbone",
        name));
  const std::string sha256 = sha256_hex(MappedFile(backbone_file(name)).bytes());
  if (sha256 != origin.sha256)
    throw data_error(fmt::format(
        "backbone {} (SHA-256 {}...) is not the one the classifier was fitted with ({}{}); name "
        "that one with --backbone, or fit again",
        name, short_hash(sha256), origin.backbone.empty() ? "" : origin.backbone + ", ",
        origin.sha256.empty() ? "unknown" : short_hash(origin.sha256) + "..."));
  return open_backbone(name, device);
}

}  // namespace deepvoro
