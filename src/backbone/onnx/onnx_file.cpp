#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "deepvoro/backbone/onnx.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"
#include "features/json_fields.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kOnnxAboutEnding = ".about.json";

fs::path about_file(const fs::path& model) {
  return fs::path(model).replace_extension(kOnnxAboutEnding);
}

std::array<float, 3> three_numbers(const json& document, const char* key, const std::string& where,
                                   const std::array<float, 3>& usual) {
  if (!document.contains(key)) return usual;
  const json& values = document[key];
  if (!values.is_array() || values.size() != 3 ||
      !std::ranges::all_of(values, [](const json& one) { return one.is_number(); }))
    throw data_error(fmt::format("{}: \"{}\" must be three numbers", where, key));
  return {values[0].get<float>(), values[1].get<float>(), values[2].get<float>()};
}

void check(const PixelScale& pixels) {
  for (const float deviation : pixels.deviation)
    if (!(deviation > 0)) throw usage_error("`std` must be above 0");
}

}  // namespace

bool is_onnx(const fs::path& model) {
  return model.extension() == ".onnx";
}

OnnxOptions onnx_options_of(const fs::path& model) {
  OnnxOptions options;
  const fs::path file = about_file(model);
  if (std::error_code absent; !fs::exists(file, absent)) return options;
  const json document = read_json(file);
  const JsonFields about(document, file.string());
  const auto text = [&](const char* key) { return about.has(key) ? about.text(key) : ""; };
  options.licence = text("licence");
  options.source = text("source");
  options.trained_on = text("trained_on");
  options.output = text("output");
  if (about.has("features")) options.features = about.whole("features", 1);
  if (about.has("input_size")) options.input_size = about.whole("input_size", 1);
  options.pixels.mean = three_numbers(document, "mean", file.string(), options.pixels.mean);
  options.pixels.deviation =
      three_numbers(document, "std", file.string(), options.pixels.deviation);
  check(options.pixels);
  return options;
}

std::size_t add_onnx(const std::string& name, const fs::path& model, const OnnxOptions& options) {
  if (name.empty() || name.find_first_of("/.") != std::string::npos)
    throw usage_error(fmt::format(
        "'{}' cannot be the name of a backbone; use letters, digits, '_' and '-'", name));
  check(options.pixels);
  const std::unique_ptr<Backbone> network = open_onnx(model, options);
  const fs::path folder = user_backbone_folder();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw data_error(fmt::format("{}: cannot be created: {}; set DEEPVORO_DATA to another folder",
                                 folder.string(), error.message()));
  const fs::path file = folder / (name + ".onnx");
  if (fs::exists(file) || fs::exists(folder / (name + ".safetensors")))
    throw data_error(
        fmt::format("there is a backbone '{}' already; choose another name or remove {}", name,
                    (fs::exists(file) ? file : folder / (name + ".safetensors")).string()));
  json about{{"network", "onnx"},
             {"features", network->dim()},
             {"input_size", network->input_size()},
             {"mean", options.pixels.mean},
             {"std", options.pixels.deviation}};
  for (const auto& [key, value] :
       {std::pair{"output", options.output}, std::pair{"licence", options.licence},
        std::pair{"source", options.source}, std::pair{"trained_on", options.trained_on}})
    if (!value.empty()) about[key] = value;
  AtomicFile out(about_file(file));
  out.write(about.dump(2) + "\n");
  out.commit();
  const MappedFile bytes(model);
  AtomicFile copy(file);
  copy.write(bytes.bytes());
  copy.commit();
  return network->dim();
}

}  // namespace deepvoro
