#include "embedding_queue.hpp"

#include <optional>
#include <utility>

#include "deepvoro/backbone/embedder.hpp"
#include "features/formats/half.hpp"
#include "project_error.hpp"

namespace deepvoro {
namespace {

PictureFeatures features_of(Embedder& embedder, std::vector<Bitmap> seen,
                            const std::string& where) {
  const std::vector<std::uint16_t> halves = embedder.embed(std::move(seen), where);
  PictureFeatures features(embedder.views().size());
  for (std::size_t v = 0; v < features.size(); ++v)
    for (std::size_t c = 0; c < embedder.dim(); ++c)
      features[v].push_back(half_to_float(halves[v * embedder.dim() + c]));
  return features;
}

}  // namespace

EmbeddingQueue::EmbeddingQueue(OpenNetwork open, std::vector<View> views, const Limits& limits,
                               NetworkInput input)
    : open_(std::move(open)),
      views_(std::move(views)),
      input_(input),
      most_waiting_(limits.most_waiting) {
  for (unsigned i = 0; i < limits.networks; ++i) threads_.emplace_back([this] { serve(); });
}

EmbeddingQueue::~EmbeddingQueue() {
  {
    const std::scoped_lock lock(guard_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::future<PictureFeatures> EmbeddingQueue::embed(const Bitmap& picture, std::string where) {
  std::vector<Bitmap> seen = input_.seen(picture, views_);
  std::future<PictureFeatures> features;
  {
    const std::scoped_lock lock(guard_);
    if (queue_.size() >= most_waiting_)
      throw ProjectError(Refusal::busy, "too many pictures are waiting; try again in a moment");
    queue_.push_back({std::move(seen), std::move(where), {}});
    features = queue_.back().features.get_future();
  }
  changed_.notify_one();
  return features;
}

std::size_t EmbeddingQueue::waiting() const {
  const std::scoped_lock lock(guard_);
  return queue_.size();
}

void EmbeddingQueue::serve() {
  std::unique_ptr<Backbone> network;
  std::optional<Embedder> embedder;
  for (;;) {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [this] { return ends_ || !queue_.empty(); });
    if (ends_) return;
    Waiting next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    try {
      if (!embedder) {
        network = open_();
        embedder.emplace(*network, views_);
      }
      next.features.set_value(features_of(*embedder, std::move(next.views), next.where));
    } catch (...) {
      next.features.set_exception(std::current_exception());
    }
  }
}

}  // namespace deepvoro
