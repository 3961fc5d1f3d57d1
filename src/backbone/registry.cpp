#include "deepvoro/backbone/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/json_text.hpp"
#include "core/library_folder.hpp"
#include "deepvoro/backbone/architecture.hpp"
#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/backbone/install.hpp"
#include "deepvoro/backbone/onnx.hpp"
#include "deepvoro/core/error.hpp"
#include "features/json_fields.hpp"
#include "model_file.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".safetensors";
constexpr const char* kAboutEnding = ".about.json";

std::optional<fs::path> folder_named_by(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing sets it
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<fs::path> user_folder() {
  if (const auto data = folder_named_by("DEEPVORO_DATA")) return *data / "backbones";
  if (const auto data = folder_named_by("XDG_DATA_HOME")) return *data / "deepvoro/backbones";
  if (const auto home = folder_named_by("HOME")) return *home / ".local/share/deepvoro/backbones";
  return std::nullopt;
}

// Beside the library in a Python package; above it in <prefix>/share once it is installed, or in
// data/ of the sources before that.
std::optional<fs::path> built_in_folder() {
  constexpr int levels = 4;
  fs::path above = library_folder();
  if (std::error_code absent; fs::is_directory(above / "backbones", absent))
    return above / "backbones";
  for (int level = 0; level < levels; ++level) {
    above = above.parent_path();
    for (const char* place : {"share/deepvoro/backbones", "data/backbones"})
      if (std::error_code absent; fs::is_directory(above / place, absent)) return above / place;
  }
  return std::nullopt;
}

std::map<std::string, fs::path> files_by_name() {
  std::map<std::string, fs::path> files;
  for (const fs::path& folder : backbone_folders()) {
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(folder, absent))
      if ((entry.path().extension() == kEnding || is_onnx(entry.path())) &&
          entry.is_regular_file(absent))
        files.try_emplace(entry.path().stem().string(), entry.path());
  }
  return files;
}

bool is_path(const std::string& text) {
  std::error_code absent;
  const auto status = fs::status(text, absent);
  return (fs::exists(status) && !fs::is_directory(status)) || text.find('/') != std::string::npos ||
         text.ends_with(kEnding) || is_torchscript(text) || is_onnx(text);
}

void fill(std::string& fact, const JsonFields& about, const char* key) {
  if (fact.empty() && about.has(key)) fact = about.text(key);
}

}  // namespace

ModelDescription description_of(const fs::path& model) {
  ModelDescription description = ModelFile(model).description();
  const fs::path file = fs::path(model).replace_extension(kAboutEnding);
  if (std::error_code absent; !fs::exists(file, absent)) return description;
  const nlohmann::json document = read_json(file);
  const JsonFields about(document, file.string());
  fill(description.licence, about, "licence");
  fill(description.source, about, "source");
  fill(description.trained_on, about, "trained_on");
  return description;
}

namespace {

InstalledBackbone installed_onnx(const std::string& name, const fs::path& file) {
  const OnnxOptions options = onnx_options_of(file);
  ModelDescription description;
  description.input_size = options.input_size.value_or(0);
  description.pixels = options.pixels;
  description.licence = options.licence;
  description.source = options.source;
  description.trained_on = options.trained_on;
  return {name, file, "onnx", options.features, description};
}

}  // namespace

std::vector<InstalledBackbone> installed_backbones() {
  std::vector<InstalledBackbone> all;
  for (const auto& [name, file] : files_by_name()) {
    if (is_onnx(file)) {
      all.push_back(installed_onnx(name, file));
      continue;
    }
    const ModelDescription description = description_of(file);
    all.push_back({name, file, description.architecture.name,
                   feature_count(description.architecture), description});
  }
  return all;
}

fs::path backbone_file(const std::string& name_or_path) {
  if (is_path(name_or_path)) return name_or_path;
  const auto files = files_by_name();
  const auto found = files.find(name_or_path);
  if (found != files.end()) return found->second;
  if (std::ranges::find(installable_backbones(), name_or_path) != installable_backbones().end())
    throw data_error(
        fmt::format("no backbone '{0}' is installed; run: deepvoro backbone install {0}",
                    name_or_path),
        ErrorCode::missing_network);
  throw data_error(
      fmt::format(
          "'{}' is neither a file nor an installed backbone; 'deepvoro backbone list' shows those",
          name_or_path),
      ErrorCode::missing_network);
}

std::vector<fs::path> backbone_folders() {
  std::vector<fs::path> folders;
  for (const auto& folder : {user_folder(), built_in_folder()})
    if (folder) folders.push_back(*folder);
  return folders;
}

fs::path user_backbone_folder() {
  if (const auto folder = user_folder()) return *folder;
  throw data_error("there is no home folder; set DEEPVORO_DATA to the folder for data");
}

}  // namespace deepvoro
