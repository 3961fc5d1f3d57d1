#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/classifier/classifier.hpp"
#include "deepvoro/ensemble/engine.hpp"
#include "deepvoro/image/dataset.hpp"
#include "deepvoro/image/image.hpp"

namespace deepvoro {

// A picture that is read when it is asked for.
struct NamedPicture {
  std::string name;   // what it is called in a class: the file, below the folder that was given
  std::string where;  // what a user would call it
  std::function<Image()> read;
  std::filesystem::path file = {};  // if it is one
};

// A picture file, or all those in a folder and below it, by name.
[[nodiscard]] std::vector<NamedPicture> pictures_at(const std::filesystem::path& path);
[[nodiscard]] std::vector<NamedPicture> pictures_of(const ImageDataset& dataset);

// Whether a picture is a drawing: grey, and at least half of it is paper, white or black.
[[nodiscard]] bool is_drawing(const Image& image);

// Whether a picture has colours that are none of light or paper: strong ones in a tenth of it.
[[nodiscard]] bool is_coloured(const Image& image);

// The backbone that suits pictures, and why.
struct BackboneChoice {
  std::string name;
  std::string reason;
};
// quickdraw-conv4 for drawings, resnet50 for anything else. Pictures that cannot be read have no
// say.
[[nodiscard]] BackboneChoice suitable_backbone(std::span<const NamedPicture> pictures);

// A network, which computes on one thread, with what a classifier remembers of it.
struct OpenedBackbone {
  std::filesystem::path file;
  std::string device;  // "cpu" or "cuda"
  std::unique_ptr<Backbone> network;
  FeatureOrigin origin;
};
// By name or file.
[[nodiscard]] OpenedBackbone open_backbone(const std::string& name_or_file,
                                           const std::string& device = "cpu");
// The one that made a classifier's features; `elsewhere` is where it lies now, if not empty. One of
// another hash is a data error.
[[nodiscard]] OpenedBackbone open_backbone_of(const Classifier& classifier,
                                              const std::string& elsewhere,
                                              const std::string& device = "cpu");

// What a classifier sees of pictures.
struct PictureFeatures {
  std::vector<std::size_t> pictures;      // of those asked for, the ones that could be read
  std::vector<std::vector<float>> views;  // [views] of [pictures x dim]
  std::vector<std::string> skipped;       // the others: which, and why
  std::size_t coloured = 0;               // of the pictures
  std::size_t dim = 0;

  [[nodiscard]] std::vector<MatrixView<const float>> rows() const;
};

struct PictureRequest {
  std::vector<std::string> views;
  bool skip_bad = false;  // leave out pictures that cannot be read
  unsigned threads = 1;
};

// Every thread has a network of its own and looks at whole pictures, each by itself. So features of
// a picture do not depend on other pictures or on the number of threads, on the CPU not even by
// rounding. They are rounded to float16, as those of a feature store are.
[[nodiscard]] PictureFeatures features_of(std::span<const NamedPicture> pictures,
                                          const PictureRequest& request,
                                          const OpenedBackbone& backbone,
                                          const Progress& progress = {});

// Where most pictures have colours and the backbone is quickdraw-conv4, which has never seen any.
[[nodiscard]] std::optional<std::string> warning_of_colours(const FeatureOrigin& origin,
                                                            const PictureFeatures& features);

}  // namespace deepvoro
