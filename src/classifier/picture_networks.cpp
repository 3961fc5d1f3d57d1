#include "picture_networks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "backbone_choice.hpp"
#include "core/stopwatch.hpp"
#include "core/without_name.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/picture/decode.hpp"
#include "deepvoro/picture/view.hpp"
#include "features/formats/half.hpp"

namespace deepvoro {
namespace {

// More would need too much memory.
constexpr unsigned kMostNetworks = 16;

std::vector<View> parsed(const std::vector<std::string>& names) {
  std::vector<View> views(names.size());
  std::ranges::transform(names, views.begin(), view_named);
  return views;
}

Error with_advice(const Error& error) {
  return data_error(fmt::format("{}; `skip_bad` skips such pictures", error.what()), error.code());
}

// Before hours of work that such a file would end.
void check_kinds(std::span<const Picture> pictures) {
  try {
    for (const Picture& picture : pictures)
      if (!picture.file.empty()) check_begins_like_a_picture(picture.file);
  } catch (const Error& error) {
    throw with_advice(error);
  }
}

struct SeenPicture {
  std::vector<Bitmap> views;
  std::string reason;        // why it could not be read; empty if it could
  bool is_coloured = false;  // the picture; its views may be strokes of it
};

Bitmap read(const Picture& picture, const Embedder& embedder, bool fast_decode) {
  return fast_decode && picture.read_reduced ? picture.read_reduced(embedder.least_side())
                                             : picture.read();
}

SeenPicture seen(const Picture& picture, const Embedder& embedder, const PictureOptions& options,
                 bool colours_matter) {
  try {
    const Bitmap bitmap = read(picture, embedder, options.fast_decode);
    return {.views = embedder.seen(bitmap),
            .reason = {},
            .is_coloured = colours_matter && is_coloured(bitmap)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    if (!options.skip_bad) throw with_advice(error);
    return {.views = {}, .reason = error.what()};
  }
}

// As many as a second is enough for, by how long some took. Threads wait for the slowest of a
// portion, so few at once would be slower.
std::size_t next_portion(std::size_t some, double seconds, unsigned threads) {
  constexpr std::size_t most_per_thread = 64;
  const double in_a_second = static_cast<double>(some) / std::max(seconds, 1e-3);
  return static_cast<std::size_t>(std::clamp(in_a_second, static_cast<double>(threads),
                                             static_cast<double>(most_per_thread * threads)));
}

}  // namespace

struct PictureNetworks::Run {
  std::span<const Picture> pictures;
  const PictureOptions& options;
  unsigned threads;
  std::atomic<std::size_t> done = 0;
  std::atomic<std::size_t> coloured = 0;
  std::vector<std::string> skipped = {};
};

PictureNetworks::PictureNetworks(OpenedBackbone backbone, const std::vector<std::string>& views)
    : backbone_(std::move(backbone)), networks_(kMostNetworks), embedders_(kMostNetworks) {
  embedders_.front().emplace(*backbone_.network, parsed(views));
}

// A thread asks for its own alone.
Embedder& PictureNetworks::embedder(unsigned worker) {
  std::optional<Embedder>& embedder = embedders_[worker];
  if (!embedder) {
    networks_[worker] = backbone_.network->for_another_thread();
    if (!networks_[worker])
      networks_[worker] = open_network(backbone_.file, {.device = backbone_.device});
    embedder.emplace(*networks_[worker], embedders_.front()->views());
  }
  return *embedder;
}

void PictureNetworks::look_at(std::span<const Picture> pictures, Portions portions,
                              const PictureOptions& options, const Receiver& receive) {
  if (!options.skip_bad) check_kinds(pictures);
  const Stopwatch looking;
  Run run{pictures, options, std::clamp(options.threads, 1U, kMostNetworks)};
  std::size_t readable = 0;
  std::size_t at_once = portions == Portions::soon ? run.threads : pictures.size();
  for (std::size_t begin = 0; begin < pictures.size();) {
    const Stopwatch portion;
    const std::size_t end = begin + std::min(at_once, pictures.size() - begin);
    const SeenPictures some = look_at_some(run, begin, end);
    begin = end;
    readable += some.numbers.size();
    receive(some);
    if (portions == Portions::soon) at_once = next_portion(at_once, portion.seconds(), run.threads);
  }
  if (options.events.looked)
    options.events.looked(
        {.pictures = readable,
         .skipped = std::move(run.skipped),
         .warning = warning_of_colours(backbone_.origin.backbone, run.coloured, readable),
         .seconds = looking.seconds()});
  const bool was_told = portions == Portions::soon && options.events.skipped;
  if (readable == 0 && !was_told) throw data_error("none of the pictures can be read");
}

SeenPictures PictureNetworks::look_at_some(Run& run, std::size_t begin, std::size_t end) {
  std::vector<std::vector<std::uint16_t>> features(end - begin);  // [views x dim] of each
  std::vector<std::string> reasons(end - begin);
  const Progress& progress = run.options.events.progress;
  const bool colours_matter = is_of_drawings(backbone_.origin.backbone);
  parallel_for(run.threads, end - begin, 1, [&](std::size_t i, std::size_t, unsigned worker) {
    Embedder& own = embedder(worker);
    const Picture& picture = run.pictures[begin + i];
    SeenPicture looked_at = seen(picture, own, run.options, colours_matter);
    reasons[i] = looked_at.reason;
    if (looked_at.reason.empty()) {
      run.coloured += looked_at.is_coloured ? 1U : 0U;
      features[i] = own.embed(std::move(looked_at.views), picture.where);
    }
    const std::size_t count = ++run.done;
    if (progress && worker == 0)
      progress(static_cast<double>(count) / static_cast<double>(run.pictures.size()));
  });

  SeenPictures result;
  result.views.resize(embedders_.front()->views().size());
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (!reasons[i].empty()) {
      run.skipped.push_back(reasons[i]);
      result.skipped.push_back(
          {begin + i, without_name(reasons[i], run.pictures[begin + i].where)});
      continue;
    }
    result.numbers.push_back(begin + i);
    for (std::size_t v = 0; v < result.views.size(); ++v)
      for (std::size_t c = 0; c < dim(); ++c)
        result.views[v].push_back(half_to_float(features[i][v * dim() + c]));
  }
  return result;
}

void NetworkSlot::use(const FeatureOrigin& origin, const std::vector<std::string>& views,
                      const PictureOptions& options, const Work& work) {
  const std::scoped_lock lock(guard_);
  const std::string& name = options.backbone.empty() ? origin.backbone : options.backbone;
  std::shared_ptr<PictureNetworks> networks = networks_;
  if (!networks || elsewhere_ != options.backbone || device_ != options.device) {
    if (options.events.loading) options.events.loading(name);
    networks = std::make_shared<PictureNetworks>(
        open_backbone_of(origin, options.backbone, options.device, options.threads), views);
    networks_ = networks;
    elsewhere_ = options.backbone;
    device_ = options.device;
  }
  if (options.events.loaded)
    options.events.loaded({name, "as the classifier was fitted"}, views.size());
  work(*networks);
}

}  // namespace deepvoro
