#include "tfjs_model.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"
#include "features/json_fields.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr std::size_t kMostElements = std::size_t{1} << 28U;

std::vector<std::uint64_t> shape_of(const JsonFields& weight) {
  std::vector<std::uint64_t> shape;
  for (const json& size : weight.list("shape")) {
    if (!size.is_number_unsigned() || size == 0 || size > kMostElements)
      weight.fail("shape", "must be whole numbers above 0");
    shape.push_back(size.get<std::uint64_t>());
  }
  return shape;
}

}  // namespace

TfjsModel::TfjsModel(std::string_view model_json, std::string where) : where_(std::move(where)) {
  const json document = parse_json(model_json);
  if (!document.is_object()) fail("is not valid JSON; get the package again");
  const JsonFields top(document, where_);
  for (const json& group : top.list("weightsManifest")) {
    const JsonFields fields(group, where_ + ": \"weightsManifest\"");
    for (const json& file : fields.list("paths")) {
      if (!file.is_string()) fields.fail("paths", "must be names of files");
      files_.push_back(file.get<std::string>());
    }
    for (const json& entry : fields.list("weights")) {
      const JsonFields weight(entry, where_ + ": \"weights\"");
      const std::string name = weight.text("name");
      if (weight.text("dtype") != "float32" || weight.has("quantization"))
        fail(fmt::format("'{}' is not of float32", name));
      Weight found{.shape = shape_of(weight), .offset = size_, .size = 1};
      for (const std::uint64_t size : found.shape) {
        if (size > kMostElements / found.size) fail(fmt::format("'{}' is too large", name));
        found.size *= size;
      }
      size_ += found.size;
      if (size_ > kMostElements) fail("has more weights than any supported network");
      weights_[name] = std::move(found);
    }
  }
  const JsonFields config = top.object("modelTopology").object("model_config").object("config");
  for (const json& layer : config.list("layers")) {
    const JsonFields fields(layer, where_ + ": \"layers\"");
    if (fields.text("class_name") == "BatchNormalization")
      epsilons_[fields.text("name")] = fields.object("config").number("epsilon");
  }
}

const TfjsModel::Weight& TfjsModel::weight(const std::string& name, std::size_t rank) const {
  const auto found = weights_.find(name);
  if (found == weights_.end()) fail(fmt::format("has no weights '{}'", name));
  if (found->second.shape.size() != rank)
    fail(fmt::format("'{}' has {} dimensions, not {}", name, found->second.shape.size(), rank));
  return found->second;
}

double TfjsModel::epsilon(const std::string& layer) const {
  const auto found = epsilons_.find(layer);
  if (found == epsilons_.end()) fail(fmt::format("has no normalisation '{}'", layer));
  return found->second;
}

void TfjsModel::fail(const std::string& what) const {
  throw data_error(fmt::format("{}: {}", where_, what));
}

}  // namespace deepvoro
