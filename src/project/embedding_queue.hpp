#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backbone/network_input.hpp"
#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/picture/bitmap.hpp"
#include "deepvoro/picture/view.hpp"

namespace deepvoro {

// Features of one picture, [views][dim].
using PictureFeatures = std::vector<std::vector<float>>;

// Pictures of many clients wait in one queue for a few networks, each with a thread of its own. A
// network is fed one picture in all its views at a time: fed with others, its features would differ
// by rounding from those of a classifier that is fitted without a server. Safe to share between
// threads.
class EmbeddingQueue {
 public:
  using OpenNetwork = std::function<std::unique_ptr<Backbone>()>;

  struct Limits {
    unsigned networks = 1;
    std::size_t most_waiting = 4096;  // pictures
  };
  // `input` is that of the networks, which are opened later.
  EmbeddingQueue(OpenNetwork open, std::vector<View> views, const Limits& limits,
                 NetworkInput input = {});
  EmbeddingQueue(const EmbeddingQueue&) = delete;
  EmbeddingQueue& operator=(const EmbeddingQueue&) = delete;
  // Pictures that still wait are dropped: their futures are broken.
  ~EmbeddingQueue();

  // A ProjectError (busy) where too many wait already. What a network cannot take is thrown by the
  // future. What waits are the views of a picture, which are small whatever its size.
  [[nodiscard]] std::future<PictureFeatures> embed(const Bitmap& picture, std::string where);

  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] const NetworkInput& input() const { return input_; }
  // For decode_picture(), of pictures that are to be embedded.
  [[nodiscard]] std::size_t least_side() const { return input_.least_side(views_); }

 private:
  struct Waiting {
    std::vector<Bitmap> views;
    std::string where;
    std::promise<PictureFeatures> features;
  };

  void serve();

  OpenNetwork open_;
  std::vector<View> views_;
  NetworkInput input_;
  std::size_t most_waiting_;
  mutable std::mutex guard_;
  std::condition_variable changed_;
  std::deque<Waiting> queue_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace deepvoro
