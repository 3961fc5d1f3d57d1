#include "deepvoro/features/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/files.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "features/npy.hpp"
#include "formats/class_names.hpp"
#include "formats/feature_table.hpp"
#include "formats/half.hpp"
#include "new_store_folder.hpp"
#include "store_files.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> views_of(const ImportOptions& options, const std::string& split) {
  std::vector<std::string> views;
  for (const auto& source : options.sources)
    if (source.split == split) views.push_back(source.view);
  return views;
}

std::vector<std::string> splits_of(const ImportOptions& options) {
  std::vector<std::string> splits;
  for (const auto& source : options.sources)
    if (std::ranges::find(splits, source.split) == splits.end()) splits.push_back(source.split);
  return splits;
}

void check_source_names(const ImportOptions& options) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& source : options.sources) {
    if (!is_split_name(source.split))
      throw usage_error(fmt::format("'{}' is not a split; use base, val or novel", source.split));
    if (!is_view_name(source.view))
      throw usage_error(
          fmt::format("'{}' cannot be the name of a view; use letters, digits, '_', '-' and '.', "
                      "as in s84_r0_f0",
                      source.view));
    if (!seen.emplace(source.split, source.view).second)
      throw usage_error(
          fmt::format("split {} has two files for view '{}'; name the views, as in "
                      "--{} s84_r0_f0=a.npy --{} s84_r0_f1=b.npy",
                      source.split, source.view, source.split, source.split));
  }
}

void check_same_views(const ImportOptions& options) {
  const std::vector<std::string> splits = splits_of(options);
  for (const std::string& split : splits)
    for (const std::string& other : splits)
      for (const std::string& view : views_of(options, other))
        if (const auto views = views_of(options, split);
            std::ranges::find(views, view) == views.end())
          throw usage_error(fmt::format(
              "split {} has view '{}', but split {} does not; every split needs every view", other,
              view, split));
}

void check_options(const ImportOptions& options) {
  if (options.sources.empty())
    throw usage_error("no feature files are given; name some with `base`, `val` or `novel`");
  check_source_names(options);
  check_same_views(options);
  const std::vector<std::string> splits = splits_of(options);
  const auto check_split = [&](const std::string& split, const fs::path& file) {
    if (std::ranges::find(splits, split) == splits.end())
      throw usage_error(
          fmt::format("{}: is given for split '{}', which has no features", file.string(), split));
  };
  for (const auto& [split, labels] : options.label_files) check_split(split, labels.file);
  for (const auto& [split, file] : options.class_files) check_split(split, file);
}

std::vector<std::uint16_t> to_halves(const FeatureTable& table, const fs::path& source) {
  std::vector<std::uint16_t> halves(table.values.size());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    if (std::abs(table.values[i]) > kLargestHalf)
      throw data_error(
          fmt::format("{}: row {}, column {} is {}, beyond the 65504 of float16; use `dtype` "
                      "float32",
                      source.string(), i / table.dim, i % table.dim, table.values[i]));
    halves[i] = float_to_half(table.values[i]);
  }
  return halves;
}

void write_view(const fs::path& file, const FeatureTable& table, ElementType element,
                const fs::path& source) {
  const std::array<std::uint64_t, 2> shape{table.rows, table.dim};
  if (element == ElementType::float32)
    return write_npy(file, "<f4", shape, std::as_bytes(std::span(table.values)));
  const std::vector<std::uint16_t> halves = to_halves(table, source);
  write_npy(file, "<f2", shape, std::as_bytes(std::span(halves)));
}

// Labels of one split, from whichever files carry them; all that do must agree.
class SplitLabels {
 public:
  void add(RowLabels labels, const fs::path& file) {
    if (file_.empty()) {
      labels_ = std::move(labels);
      file_ = file;
      return;
    }
    check_rows(labels.values.size(), file);
    for (std::size_t row = 0; row < labels_.values.size(); ++row)
      if (labels.text(row) != labels_.text(row))
        throw data_error(
            fmt::format("{}: row {} has label {}, but {} in {}; files of one split must "
                        "hold the same samples in the same order",
                        file.string(), row, labels.text(row), labels_.text(row), file_.string()));
  }
  void check_rows(std::size_t rows, const fs::path& file) const {
    if (!file_.empty() && rows != labels_.values.size())
      throw data_error(fmt::format("{}: has {} rows, but {} has {} labels", file.string(), rows,
                                   file_.string(), labels_.values.size()));
  }
  [[nodiscard]] bool known() const { return !file_.empty(); }
  [[nodiscard]] const std::vector<std::int64_t>& values() const { return labels_.values; }
  // Of classes, where the files have names in place of numbers.
  [[nodiscard]] const std::vector<std::string>& names() const { return labels_.names; }
  [[nodiscard]] const fs::path& file() const { return file_; }

 private:
  RowLabels labels_;
  fs::path file_;
};

class Importer {
 public:
  Importer(const ImportOptions& options, fs::path folder)
      : options_(options),
        folder_(std::move(folder)),
        names_{options.features_name, options.labels_name} {}

  void run() {
    for (const std::string& split : splits_of(options_)) add_split(split);
    refuse_equal_splits();
    write_store_description(folder_, {.dim = dim_,
                                      .views = views_of(options_, options_.sources.front().split),
                                      .splits = splits_,
                                      .provenance = provenance()});
  }

 private:
  void add_split(const std::string& split) {
    fs::create_directory(folder_ / split);
    SplitLabels labels;
    std::size_t rows = 0;
    if (const auto file = options_.label_files.find(split); file != options_.label_files.end()) {
      const auto& [path, array] = file->second;
      labels.add(read_labels(path, {"", array.empty() ? names_.labels : array}), path);
      label_files_.push_back(source_entry(split, path));
    }
    for (const auto& source : options_.sources)
      if (source.split == split) rows = add_view(source, rows, labels);
    if (!labels.known())
      throw usage_error(
          fmt::format("split {}: none of its files has labels; give them with --{}-labels FILE, a "
                      "1-D array of whole numbers or names",
                      split, split));
    write_labels(split, labels);
  }

  // Base classes that are the novel ones would make every result too good.
  void refuse_equal_splits() const {
    std::map<std::string, std::string> split_with;
    for (const std::string& split : splits_of(options_)) {
      const std::string& view = options_.sources.front().view;
      const std::string hash = sha256_hex(MappedFile(folder_ / split / (view + ".npy")).bytes());
      const auto [other, is_new] = split_with.try_emplace(hash, split);
      if (!is_new)
        throw data_error(fmt::format(
            "splits {} and {} hold the same features in view '{}'; splits must be of "
            "different classes. To pick arrays of one file, name them: --{} FILE::ARRAY",
            other->second, split, view, split));
    }
  }

  // Returns the rows of the split, which all its views must have.
  std::size_t add_view(const ImportOptions::Source& source, std::size_t rows_before,
                       SplitLabels& labels) {
    FeatureTable table = read_feature_table(
        source.file, {source.array.empty() ? names_.features : source.array, names_.labels});
    if (dim_ == 0) dim_ = table.dim;
    if (table.dim != dim_)
      throw data_error(fmt::format("{}: has {} dimensions, but the files before it have {}",
                                   source.file.string(), table.dim, dim_));
    if (rows_before != 0 && table.rows != rows_before)
      throw data_error(fmt::format("{}: has {} rows, but the views before it have {}",
                                   source.file.string(), table.rows, rows_before));
    labels.check_rows(table.rows, source.file);
    if (table.labels) labels.add(std::move(*table.labels), source.file);
    write_view(folder_ / source.split / (source.view + ".npy"), table,
               options_.element.value_or(table.element), source.file);
    json entry = source_entry(source.split, source.file);
    entry["view"] = source.view;
    sources_.push_back(std::move(entry));
    return table.rows;
  }

  void write_labels(const std::string& split, const SplitLabels& labels) {
    const std::set<std::int64_t> sorted(labels.values().begin(), labels.values().end());
    const std::vector<std::int64_t> distinct(sorted.begin(), sorted.end());
    std::vector<std::int64_t> indices;
    for (const std::int64_t label : labels.values())
      indices.push_back(std::ranges::lower_bound(distinct, label) - distinct.begin());
    write_store_labels(folder_, split, indices);
    splits_[split] = {.samples = indices.size(), .classes = class_names(split, distinct, labels)};
  }

  [[nodiscard]] std::vector<std::string> class_names(const std::string& split,
                                                     const std::vector<std::int64_t>& distinct,
                                                     const SplitLabels& labels) const {
    std::vector<std::string> names;
    const auto file = options_.class_files.find(split);
    if (file == options_.class_files.end()) {
      if (!labels.names().empty()) return labels.names();
      for (const std::int64_t label : distinct) names.push_back(std::to_string(label));
      return names;
    }
    names = read_class_names(file->second);
    if (names.size() != distinct.size())
      throw data_error(
          fmt::format("{}: has {} names, but {} has {} classes ({} to {}); give one "
                      "name for each, in ascending order of label",
                      file->second.string(), names.size(), labels.file().string(), distinct.size(),
                      distinct.front(), distinct.back()));
    return names;
  }

  static json source_entry(const std::string& split, const fs::path& file) {
    return {{"split", split},
            {"file", file.string()},
            {"sha256", sha256_hex(MappedFile(file).bytes())}};
  }

  [[nodiscard]] json provenance() const {
    json entry{{"created_by", "deepvoro store create"},
               {"version", version()},
               {"sources", sources_},
               {"note", options_.note}};
    if (!label_files_.empty()) entry["label_files"] = label_files_;
    return entry;
  }

  const ImportOptions& options_;
  fs::path folder_;
  ArrayNames names_;
  std::size_t dim_ = 0;
  std::map<std::string, FeatureStore::Split> splits_;
  json sources_ = json::array();
  json label_files_ = json::array();
};

}  // namespace

void import_store(const ImportOptions& options) {
  check_options(options);
  NewStoreFolder folder(options.output);
  Importer(options, folder.path()).run();
  folder.commit();
}

}  // namespace deepvoro
