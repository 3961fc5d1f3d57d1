#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "deepvoro/backbone/embedder.hpp"
#include "deepvoro/classifier/picture_options.hpp"
#include "deepvoro/picture/picture.hpp"
#include "opened_backbone.hpp"

namespace deepvoro {

// Features of some pictures.
struct SeenPictures {
  struct Skipped {
    std::size_t number;  // which of the pictures
    std::string reason;
  };
  std::vector<std::size_t> numbers;       // of those that could be read
  std::vector<std::vector<float>> views;  // [views] of [pictures x dim], of these
  std::vector<Skipped> skipped;           // the others
};

// What looks at pictures for a classifier. Every thread has a network of its own and looks at whole
// pictures, each by itself. So features of a picture do not depend on other pictures or on the
// number of threads, on the CPU not even by rounding.
class PictureNetworks {
 public:
  PictureNetworks(OpenedBackbone backbone, const std::vector<std::string>& views);

  [[nodiscard]] std::size_t dim() const { return backbone_.network->dim(); }
  [[nodiscard]] const FeatureOrigin& origin() const { return backbone_.origin; }

  // Looks at pictures and hands on what was seen: all of it together, or in portions of about a
  // second. A data error where a picture cannot be read and is not to be skipped, or where none is
  // left and nobody is told of those that are skipped.
  enum class Portions { all_together, soon };
  using Receiver = std::function<void(const SeenPictures& seen)>;
  void look_at(std::span<const Picture> pictures, Portions portions, const PictureOptions& options,
               const Receiver& receive);

 private:
  struct Run;
  [[nodiscard]] Embedder& embedder(unsigned worker);
  [[nodiscard]] SeenPictures look_at_some(Run& run, std::size_t begin, std::size_t end);

  OpenedBackbone backbone_;
  std::vector<std::unique_ptr<Backbone>> networks_;  // of all threads but the first
  std::vector<std::optional<Embedder>> embedders_;
};

// The networks of a classifier, loaded when they are first needed and kept for the next pictures.
class NetworkSlot {
 public:
  NetworkSlot() = default;
  NetworkSlot(std::unique_ptr<PictureNetworks> networks, std::string device)
      : device_(std::move(device)), networks_(std::move(networks)) {}

  // Those of a classifier of these features and views. Only one thread at a time has them.
  using Work = std::function<void(PictureNetworks& networks)>;
  void use(const FeatureOrigin& origin, const std::vector<std::string>& views,
           const PictureOptions& options, const Work& work);

 private:
  std::recursive_mutex guard_;  // who listens to answers may ask again
  std::string elsewhere_;
  std::string device_;
  std::shared_ptr<PictureNetworks> networks_;
};

}  // namespace deepvoro
