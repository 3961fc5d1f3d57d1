#include "deepvoro/backbone/embedder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <set>
#include <utility>

#include "backbone/network_input.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "features/formats/half.hpp"

namespace deepvoro {
namespace {

void check_views(const std::vector<View>& views, SizeRule rule, const Backbone& network) {
  if (views.empty()) throw usage_error("at least one view is needed");
  std::set<std::string> names;
  for (const View& view : views) {
    if (!names.insert(name(view)).second)
      throw usage_error(fmt::format("view {} is given twice", name(view)));
    if (seen_size(view, rule) < network.smallest_input())
      throw usage_error(fmt::format("view {} is too small for this network, which needs {} pixels",
                                    name(view), network.smallest_input()));
  }
}

std::uint16_t rounded(float value, const std::string& where) {
  if (!(std::abs(value) <= kLargestHalf))
    throw data_error(
        fmt::format("{}: the network outputs {}, which float16 cannot hold", where, value));
  return float_to_half(value);
}

NetworkInput input_of(const Backbone& network, SizeRule rule) {
  return {.light_strokes = network.light_strokes(), .rule = rule};
}

// A batch is read while the network sees the one before it, and a device has the next one before
// the features of this one are taken.
class BatchPipeline {
 public:
  BatchPipeline(Backbone& network, const PictureList& pictures, const View& view,
                const NetworkInput& input, const Embedder::Batches& batches)
      : network_(network),
        pictures_(pictures),
        view_(view),
        input_(input),
        batches_(batches),
        features_(batches.size * network.dim()),
        halves_(pictures.size * network.dim()) {}

  std::vector<std::uint16_t> run() {
    InNetwork last;
    std::future<std::vector<Bitmap>> next = read_ahead(0);
    for (std::size_t begin = 0; begin < pictures_.size; begin += batches_.size) {
      const std::vector<Bitmap> batch = next.get();
      if (begin + batches_.size < pictures_.size) next = read_ahead(begin + batches_.size);
      InNetwork current{begin, batch.size(), network_.begin(batch)};
      if (last.pending) finish(last);
      last = std::move(current);
    }
    if (last.pending) finish(last);
    return std::move(halves_);
  }

 private:
  struct InNetwork {
    std::size_t begin = 0;
    std::size_t count = 0;
    std::unique_ptr<PendingFeatures> pending;
  };

  [[nodiscard]] std::future<std::vector<Bitmap>> read_ahead(std::size_t begin) const {
    return std::async(std::launch::async, [this, begin] {
      constexpr std::size_t pictures_at_once = 4;
      std::vector<Bitmap> batch(std::min(batches_.size, pictures_.size - begin));
      parallel_for(
          batches_.threads, batch.size(), pictures_at_once,
          [&](std::size_t first, std::size_t last, unsigned) {
            for (std::size_t i = first; i < last; ++i)
              batch[i] = std::move(input_.seen(*pictures_.read(begin + i), {&view_, 1}).front());
          });
      return batch;
    });
  }

  void finish(const InNetwork& batch) {
    const std::size_t dim = network_.dim();
    const std::span<float> out = std::span(features_).first(batch.count * dim);
    batch.pending->copy_to(out);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const std::string where = pictures_.where(batch.begin + i);
      for (std::size_t c = 0; c < dim; ++c)
        halves_[(batch.begin + i) * dim + c] = rounded(out[i * dim + c], where);
    }
    if (batches_.finished) batches_.finished(batch.count);
  }

  Backbone& network_;
  const PictureList& pictures_;
  const View& view_;
  NetworkInput input_;
  const Embedder::Batches& batches_;
  std::vector<float> features_;
  std::vector<std::uint16_t> halves_;
};

}  // namespace

Embedder::Embedder(Backbone& network, std::vector<View> views, SizeRule rule)
    : network_(network), views_(std::move(views)), rule_(rule) {
  check_views(views_, rule, network);
  std::map<std::size_t, std::vector<std::size_t>> by_size;
  for (std::size_t v = 0; v < views_.size(); ++v) by_size[seen_size(views_[v], rule)].push_back(v);
  for (auto& [size, members] : by_size) views_of_one_size_.push_back(std::move(members));
}

std::size_t Embedder::least_side() const {
  NetworkInput input = input_of(network_, rule_);
  input.fast_decode = true;
  return input.least_side(views_);
}

std::vector<Bitmap> Embedder::seen(const Bitmap& picture) const {
  return input_of(network_, rule_).seen(picture, views_);
}

std::vector<std::uint16_t> Embedder::embed(std::vector<Bitmap> seen, const std::string& where) {
  std::vector<std::uint16_t> features(seen.size() * dim());
  for (const std::vector<std::size_t>& members : views_of_one_size_) {
    std::vector<Bitmap> batch;
    batch.reserve(members.size());
    for (const std::size_t v : members) batch.push_back(std::move(seen[v]));
    std::vector<float> rows(batch.size() * dim());
    network_.embed(batch, rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      features[members[i / dim()] * dim() + i % dim()] = rounded(rows[i], where);
  }
  return features;
}

std::vector<std::uint16_t> Embedder::embed(const PictureList& pictures, const View& view,
                                           const Batches& batches) {
  if (batches.size == 0) throw usage_error("a batch needs at least one picture");
  return BatchPipeline(network_, pictures, view, input_of(network_, rule_), batches).run();
}

}  // namespace deepvoro
