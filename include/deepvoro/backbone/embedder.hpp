#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/export.hpp"
#include "deepvoro/picture/bitmap.hpp"
#include "deepvoro/picture/view.hpp"

namespace deepvoro {

// Pictures to look at, by number. Asked by several threads at the same time.
struct PictureList {
  std::size_t size = 0;
  std::function<std::shared_ptr<const Bitmap>(std::size_t picture)> read;
  std::function<std::string(std::size_t picture)> where;  // for messages
};

// The one way from pictures to features: views of a picture go through a network, and what comes
// out is rounded to float16, as a feature store keeps it. A value that float16 cannot hold is a
// data error that names the picture. One thread at a time, as a backbone.
class DEEPVORO_API Embedder {
 public:
  // A usage error where there are no views, one is given twice, or one is too small for the
  // network.
  Embedder(Backbone& network, std::vector<View> views, SizeRule rule = SizeRule::release);

  [[nodiscard]] const std::vector<View>& views() const { return views_; }
  [[nodiscard]] std::size_t dim() const { return network_.dim(); }

  // For decode_picture(): a picture that is decoded to no smaller sides has features that differ
  // from those of the whole by about as little as if the file had been saved once more.
  [[nodiscard]] std::size_t least_side() const;

  // A picture as the network will see it, in every view.
  [[nodiscard]] std::vector<Bitmap> seen(const Bitmap& picture) const;

  // All views of one picture, [views x dim] of float16. It is fed by itself, so that on the CPU its
  // features do not depend on other pictures, not even by rounding.
  [[nodiscard]] std::vector<std::uint16_t> embed(std::vector<Bitmap> seen,
                                                 const std::string& where);

  struct Batches {
    std::size_t size = 64;
    unsigned threads = 1;  // that read pictures
    // Told after each batch how many pictures it had.
    std::function<void(std::size_t pictures)> finished = {};
  };
  // All pictures in one view, [pictures x dim] of float16, many at a time, which is quicker.
  // Features depend on the other pictures of a batch as Backbone::embed says.
  [[nodiscard]] std::vector<std::uint16_t> embed(const PictureList& pictures, const View& view,
                                                 const Batches& batches);

 private:
  Backbone& network_;
  std::vector<View> views_;
  SizeRule rule_;
  std::vector<std::vector<std::size_t>> views_of_one_size_;  // which are fed together
};

}  // namespace deepvoro
