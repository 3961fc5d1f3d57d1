#include "opened_backbone.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backbone/model_file.hpp"
#include "core/files.hpp"
#include "core/sha256.hpp"
#include "deepvoro/backbone/onnx.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string short_hash(const std::string& sha256) {
  constexpr std::size_t shown = 12;
  return sha256.substr(0, shown);
}

// All but the hash of its file.
OpenedBackbone open_unhashed(const std::string& name_or_file, const std::string& device,
                             unsigned threads) {
  const fs::path file = backbone_file(name_or_file);
  const bool is_ours = !is_torchscript(file) && !is_onnx(file);
  OpenedBackbone opened{
      .file = file,
      .device = device,
      .network = open_network(file, {.threads = is_ours ? threads : 1, .device = device}),
      .origin = {}};
  // A name stays a name; a file has to be found from anywhere.
  opened.origin.backbone = file == fs::path(name_or_file)
                               ? fs::absolute(file).lexically_normal().string()
                               : name_or_file;
  opened.origin.description_json = is_ours
                                       ? description_json(description_of(file))
                                       : json{{"format", is_onnx(file) ? "onnx" : "torchscript"},
                                              {"input_size", opened.network->input_size()}}
                                             .dump();
  return opened;
}

}  // namespace

OpenedBackbone open_backbone(const std::string& name_or_file, const std::string& device,
                             unsigned threads) {
  OpenedBackbone opened = open_unhashed(name_or_file, device, threads);
  opened.origin.sha256 = sha256_hex(MappedFile(opened.file).bytes());
  return opened;
}

std::string backbone_of(const FeatureOrigin& origin, const std::string& elsewhere) {
  if (origin.backbone.empty() && elsewhere.empty())
    throw data_error(
        "the classifier was fitted on a feature store, so it takes a feature store; for pictures "
        "name the model that made its features with `backbone`");
  const std::string& name = elsewhere.empty() ? origin.backbone : elsewhere;
  if (const fs::path file = name; file.is_absolute() && !fs::exists(file))
    throw data_error(
        fmt::format("{}: the backbone that made the classifier's features is missing; say where it "
                    "is with `backbone`",
                    name));
  const std::string sha256 = sha256_hex(MappedFile(backbone_file(name)).bytes());
  if (sha256 != origin.sha256)
    throw data_error(fmt::format(
        "backbone {} (SHA-256 {}...) is not the one the classifier was fitted with ({}{}); name "
        "that one with `backbone`, or fit again",
        name, short_hash(sha256), origin.backbone.empty() ? "" : origin.backbone + ", ",
        origin.sha256.empty() ? "unknown" : short_hash(origin.sha256) + "..."));
  return name;
}

OpenedBackbone open_backbone_of(const FeatureOrigin& origin, const std::string& elsewhere,
                                const std::string& device, unsigned threads) {
  OpenedBackbone opened = open_unhashed(backbone_of(origin, elsewhere), device, threads);
  opened.origin.sha256 = origin.sha256;  // as was just checked
  return opened;
}

}  // namespace deepvoro
