#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/classifier/classifier.hpp"
#include "deepvoro/classifier/pictures.hpp"
#include "deepvoro/features/store.hpp"

namespace deepvoro {

// What the commands that look at pictures have in common on the command line.
struct PictureOptions {
  std::string backbone;
  std::string device = "cpu";
  std::string split;
  bool skip_bad = false;
  unsigned threads = 1;
};

void add_picture_options(CLI::App& app, PictureOptions& options, const std::string& backbone_help);

// Whether a path is a feature store.
[[nodiscard]] bool is_store(const std::string& path);

// Rows of a feature store in memory, in the views asked for.
struct StoreRows {
  std::vector<std::size_t> samples;       // which of the split
  std::vector<std::vector<float>> views;  // [views] of [samples x dim]
  std::size_t dim = 0;

  [[nodiscard]] std::vector<MatrixView<const float>> rows() const;
};

// The split that is asked for, the only one, or novel.
[[nodiscard]] std::string split_of(const FeatureStore& store, const std::string& asked_for);
// All rows of a split, or those of one class.
[[nodiscard]] StoreRows read_rows(const FeatureStore& store, const std::string& split,
                                  const std::vector<std::string>& views,
                                  const std::optional<std::size_t>& label = {});
// SHA-256 of the model that made a store; empty where the store does not say.
[[nodiscard]] std::string model_of(const FeatureStore& store);
// Throws a data error where a store's features are not of the kind a classifier was fitted on.
void check_same_origin(const FeatureStore& store, const Classifier& classifier);

// Pictures that words on the command line stand for: files, folders, patterns, "-" for a list of
// them on the standard input.
[[nodiscard]] std::vector<NamedPicture> pictures_named(const std::vector<std::string>& words);

// A network, by its name or file or the one of a classifier; a line on a terminal says that it is
// being loaded.
[[nodiscard]] OpenedBackbone load_backbone(const std::string& name, const PictureOptions& options);
[[nodiscard]] OpenedBackbone load_backbone_of(const Classifier& classifier,
                                              const PictureOptions& options);

// Features with a progress bar; says on stderr what was skipped, and whether the pictures are none
// for the backbone. None left is a data error.
[[nodiscard]] PictureFeatures look_at(const std::vector<NamedPicture>& pictures,
                                      const std::vector<std::string>& views,
                                      const PictureOptions& options,
                                      const OpenedBackbone& backbone);

// Classes, pictures, temperature and threshold, for people.
void print_summary(const std::string& file, const Classifier& classifier);

}  // namespace deepvoro
