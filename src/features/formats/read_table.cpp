#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <new>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "feature_table.hpp"
#include "hdf5_file.hpp"
#include "named_arrays.hpp"
#include "npy_file.hpp"
#include "npz_file.hpp"
#include "pickle_file.hpp"
#include "safetensors_file.hpp"
#include "text_array.hpp"

namespace deepvoro {
namespace {

enum class Format { npy, npz, hdf5, safetensors, pickle };

Format format_of(const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (ending == ".npy") return Format::npy;
  if (ending == ".npz") return Format::npz;
  if (ending == ".h5" || ending == ".hdf5") return Format::hdf5;
  if (ending == ".safetensors") return Format::safetensors;
  if (ending == ".plk" || ending == ".pkl" || ending == ".pickle") return Format::pickle;
  throw usage_error(
      fmt::format("{}: the extension tells the format, and '{}' is not one of .npy, .npz, .h5, "
                  ".hdf5, .safetensors, .plk, .pkl, .pickle",
                  file.string(), ending));
}

FeatureTable read_npy_table(const std::filesystem::path& file) {
  const LoadedArray loaded = load_npy(file);
  if (loaded.array.shape.size() != 2)
    throw data_error(fmt::format("{}: has shape {}; features are a matrix [samples, dimensions]",
                                 file.string(), shape_text(loaded.array.shape)));
  FeatureTable table;
  append_rows(loaded.array, file.string(), 0, table);
  return table;
}

RowLabels read_npy_labels(const std::filesystem::path& file) {
  if (const auto texts = npy_texts(MappedFile(file).bytes(), file.string()))
    return labels_by_name(*texts);
  return {label_values(load_npy(file).array, file.string())};
}

FeatureTable read_any_table(const std::filesystem::path& file, const ArrayNames& names) {
  switch (format_of(file)) {
    case Format::npy:
      return read_npy_table(file);
    case Format::npz:
      return read_named_table(NpzFile(file), names);
    case Format::hdf5:
      return read_named_table(Hdf5File(file), names);
    case Format::safetensors:
      return read_named_table(SafetensorsFile(file), names);
    case Format::pickle:
      return read_pickle_table(file);
  }
  throw internal_error("a feature file of unknown format");
}

}  // namespace

FeatureTable read_feature_table(const std::filesystem::path& file, const ArrayNames& names) try {
  FeatureTable table = read_any_table(file, names);
  if (table.rows == 0)
    throw data_error(fmt::format("{}: has no rows; a split needs samples", file.string()));
  if (table.labels && table.labels->values.size() != table.rows)
    throw data_error(fmt::format("{}: has {} rows of features, but {} labels", file.string(),
                                 table.rows, table.labels->values.size()));
  return table;
} catch (const std::bad_alloc&) {
  throw data_error(
      fmt::format("{}: needs more memory than is available; split the file", file.string()));
}

RowLabels read_labels(const std::filesystem::path& file, const ArrayNames& names) {
  switch (format_of(file)) {
    case Format::npy:
      return read_npy_labels(file);
    case Format::npz:
      return read_named_labels(NpzFile(file), names);
    case Format::hdf5:
      return read_named_labels(Hdf5File(file), names);
    case Format::safetensors:
      return read_named_labels(SafetensorsFile(file), names);
    case Format::pickle:
      break;
  }
  throw usage_error(
      fmt::format("{}: a pickled feature file contains its labels; leave out the file of labels",
                  file.string()));
}

}  // namespace deepvoro
