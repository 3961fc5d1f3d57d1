#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "deepvoro/backbone/model.hpp"
#include "deepvoro/core/export.hpp"

namespace deepvoro {

// A model file that goes by a name: `<name>.safetensors` or `<name>.onnx` in the user's folder of
// backbones or among those that come with the program.
struct InstalledBackbone {
  std::string name;
  std::filesystem::path file;
  std::string network;       // its architecture, or "onnx"
  std::size_t features = 0;  // 0 where it is not known without opening it
  ModelDescription description;
};

// What a model of ours says of itself. Licence, source and what it was trained on are those of
// `<name>.about.json` beside it where it does not say: its own words cannot be added to without
// changing its hash.
[[nodiscard]] DEEPVORO_API ModelDescription description_of(const std::filesystem::path& model);

// By name. One of the user's hides one of the same name that comes with the program.
[[nodiscard]] DEEPVORO_API std::vector<InstalledBackbone> installed_backbones();

// The file of a backbone by its name. What is a path (an existing file, or a text with a slash or
// the ending of a model) is taken as it is. An unknown name is a data error.
[[nodiscard]] DEEPVORO_API std::filesystem::path backbone_file(const std::string& name_or_path);

// The user's folder of backbones, then that of those that come with the program. One that there is
// no place for is left out; one may not exist yet.
[[nodiscard]] DEEPVORO_API std::vector<std::filesystem::path> backbone_folders();

// Where backbones are installed: $DEEPVORO_DATA/backbones, or deepvoro/backbones in the user's data
// folder ($XDG_DATA_HOME, ~/.local/share). It may not exist yet.
[[nodiscard]] DEEPVORO_API std::filesystem::path user_backbone_folder();

}  // namespace deepvoro
