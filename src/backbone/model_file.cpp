#include "model_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"
#include "features/formats/feature_table.hpp"
#include "features/json_fields.hpp"
#include "kernels/network_kernels.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr const char* kMetadataKey = "deepvoro";
constexpr std::size_t kLargestInput = 4096;
// The sketches that the built-in network was trained on, white on black. Its file tells by this
// alone: one more word in it would change the hash that classifiers and statistics know it by.
constexpr const char* kLightSketches =
    "086919789e9d3b8c0188679613b673ffb64f9ff706f3cbba9b2357e6603ee143";

std::array<float, 3> channels(const JsonFields& fields, const char* key) {
  const json& list = fields.list(key);
  std::array<float, 3> values{};
  if (list.size() != values.size()) fields.fail(key, "must have three numbers");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!list[i].is_number()) fields.fail(key, "must have three numbers");
    values[i] = list[i].get<float>();
  }
  return values;
}

Architecture parse_architecture(const JsonFields& fields, const std::string& where) {
  Architecture architecture;
  architecture.name = fields.text("name");
  architecture.embedding = fields.whole("embedding", 0);
  architecture.imagenet_stem = fields.flag("imagenet_stem");
  if (fields.has("first_stride")) architecture.first_stride = fields.whole("first_stride", 1);
  if (fields.has("widths"))
    for (const json& width : fields.list("widths")) {
      if (!width.is_number_unsigned()) fields.fail("widths", "must be whole numbers");
      architecture.widths.push_back(width.get<std::size_t>());
    }
  try {
    check(architecture);
  } catch (const Error& error) {
    throw data_error(fmt::format("{}: {}", where, error.what()));
  }
  return architecture;
}

}  // namespace

std::string description_json(const ModelDescription& description) {
  json architecture{{"name", description.architecture.name},
                    {"embedding", description.architecture.embedding},
                    {"imagenet_stem", description.architecture.imagenet_stem}};
  if (!description.architecture.widths.empty())
    architecture["widths"] = description.architecture.widths;
  if (description.architecture.first_stride != 1)
    architecture["first_stride"] = description.architecture.first_stride;
  json document{{"format", "deepvoro-model"},
                {"version", 1},
                {"architecture", architecture},
                {"input_size", description.input_size},
                {"mean", description.pixels.mean},
                {"deviation", description.pixels.deviation},
                {"recipe", parse_json(description.recipe_json)},
                {"data_sha256", description.data_sha256}};
  if (!description.licence.empty()) document["licence"] = description.licence;
  if (!description.source.empty()) document["source"] = description.source;
  if (!description.trained_on.empty()) document["trained_on"] = description.trained_on;
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

ModelDescription parse_description(const std::string& text, const std::string& where) {
  const json document = parse_json(text);
  if (!document.is_object() || document.value("format", json()) != "deepvoro-model")
    throw data_error(fmt::format("{}: is not a model of deepvoro", where));
  const JsonFields fields(document, where);
  if (fields.whole("version", 1) != 1) fields.fail("version", "must be 1");
  ModelDescription description;
  description.architecture = parse_architecture(fields.object("architecture"), where);
  description.input_size = fields.whole("input_size", 1);
  if (description.input_size > kLargestInput)
    fields.fail("input_size", fmt::format("must be at most {}", kLargestInput));
  description.pixels = {channels(fields, "mean"), channels(fields, "deviation")};
  for (const float deviation : description.pixels.deviation)
    if (!(deviation > 0)) fields.fail("deviation", "must be above 0");
  description.recipe_json = document.value("recipe", json::object()).dump();
  description.data_sha256 = fields.text("data_sha256");
  description.light_strokes = description.data_sha256 == kLightSketches;
  if (fields.has("licence")) description.licence = fields.text("licence");
  if (fields.has("source")) description.source = fields.text("source");
  if (fields.has("trained_on")) description.trained_on = fields.text("trained_on");
  return description;
}

ModelFile::ModelFile(const std::filesystem::path& file) : tensors_(file) {
  const auto found = tensors_.metadata().find(kMetadataKey);
  if (found == tensors_.metadata().end())
    throw data_error(
        fmt::format("{}: has no description of its network; models come from 'deepvoro train' or "
                    "'deepvoro backbone install'",
                    file.string()));
  description_ = parse_description(found->second, file.string());
}

LoadedArray ModelFile::loaded(const std::string& name, std::span<const std::int64_t> shape) const {
  if (!tensors_.has(name))
    throw data_error(
        fmt::format("{}: has no tensor '{}', which {} needs; the file is of another network",
                    tensors_.where(), name, description_.architecture.name));
  LoadedArray loaded = tensors_.load(name);
  const std::vector<std::uint64_t> expected(shape.begin(), shape.end());
  if (loaded.array.shape != expected)
    throw data_error(fmt::format("{}: '{}' has shape {}, but {} needs {}", tensors_.where(), name,
                                 shape_text(loaded.array.shape), description_.architecture.name,
                                 shape_text(expected)));
  return loaded;
}

std::vector<float> ModelFile::values(const std::string& name,
                                     std::span<const std::int64_t> shape) const {
  LoadedArray loaded = this->loaded(name, shape);
  std::uint64_t elements = 1;
  for (const std::uint64_t size : loaded.array.shape) elements *= size;
  loaded.array.shape = {elements};
  FeatureTable table;
  append_rows(loaded.array, fmt::format("{}: '{}'", tensors_.where(), name), 0, table);
  return std::move(table.values);
}

TensorValues ModelFile::mapped_values(const std::string& name,
                                      std::span<const std::int64_t> shape) const {
  static_assert(std::endian::native == std::endian::little);
  const LoadedArray loaded = this->loaded(name, shape);
  const std::span<const std::byte> bytes = loaded.array.data;
  const auto* floats = reinterpret_cast<const float*>(bytes.data());
  const std::size_t count = bytes.size() / sizeof(float);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0;
  if (loaded.array.type == NumberType::float32 && is_aligned &&
      kernels::network_kernels().all_finite(floats, count))
    return {loaded.memory, {floats, count}};
  const auto converted = std::make_shared<const std::vector<float>>(values(name, shape));
  return {converted, *converted};
}

void write_model_file(const std::filesystem::path& file, const ModelDescription& description,
                      const std::vector<FloatTensor>& tensors, WeightType type,
                      const std::map<std::string, std::string>& metadata) {
  std::map<std::string, std::string> all = metadata;
  all[kMetadataKey] = description_json(description);
  write_safetensors(file, all, tensors,
                    type == WeightType::float16 ? NumberType::float16 : NumberType::float32);
}

}  // namespace deepvoro
