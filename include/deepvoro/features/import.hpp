#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/features/store.hpp"

namespace deepvoro {

// What to make a feature store of. Files are .npy, .npz, .h5, .hdf5, .safetensors or pickled
// dicts (.plk, .pkl, .pickle), told apart by their ending.
struct ImportOptions {
  struct Source {
    std::string split;
    std::string view;
    std::filesystem::path file;
    std::string array;  // in a file that holds several; empty: features_name, or the usual names
  };
  struct Labels {
    std::filesystem::path file;
    std::string array;  // likewise
  };

  std::filesystem::path output;                    // must not exist
  std::vector<Source> sources;                     // every split has the same views
  std::map<std::string, Labels> label_files = {};  // by split; where files carry none
  // By split; text lines or a JSON list.
  std::map<std::string, std::filesystem::path> class_files = {};
  std::string features_name = {};           // array of the features; empty: the usual names
  std::string labels_name = {};             // array of the labels; empty: the usual names
  std::optional<ElementType> element = {};  // none: float16 where the file has it, else float32
  std::string note = {};                    // kept in the provenance
};

// Writes the store. It appears whole or not at all: it is built in a folder beside `output`, which
// is renamed at the end. Labels become 0, 1, ... in ascending order, and their decimals name the
// classes where no names are given. Splits that hold the same features are refused.
DEEPVORO_API void import_store(const ImportOptions& options);

}  // namespace deepvoro
