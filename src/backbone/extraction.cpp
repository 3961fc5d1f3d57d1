#include "deepvoro/backbone/extraction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/sha256.hpp"
#include "deepvoro/backbone/collections.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/files.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/core/version.hpp"
#include "deepvoro/features/npy.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/image/dataset.hpp"
#include "features/formats/half.hpp"
#include "features/store_files.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Decoded pictures are kept for the next view as long as they fit.
constexpr std::int64_t kCacheBytes = std::int64_t{1} << 30U;

struct BadPicture {
  std::string name;
  std::string reason;
};

// The pictures of one split that can be used.
class Pictures {
 public:
  Pictures(const fs::path& collection, std::atomic<std::int64_t>& cache_bytes_left)
      : dataset_(ImageDataset::open(collection)),
        cache_(dataset_.size()),
        cache_bytes_left_(cache_bytes_left) {
    for (std::size_t i = 0; i < dataset_.size(); ++i) usable_.push_back(i);
  }

  [[nodiscard]] const ImageDataset& dataset() const { return dataset_; }
  [[nodiscard]] std::size_t size() const { return usable_.size(); }
  [[nodiscard]] const std::vector<BadPicture>& bad() const { return bad_; }
  [[nodiscard]] std::string name(std::size_t row) const { return dataset_.name(usable_[row]); }

  [[nodiscard]] std::vector<std::int64_t> labels() const {
    std::vector<std::int64_t> labels;
    for (const std::size_t i : usable_)
      labels.push_back(static_cast<std::int64_t>(dataset_.label(i)));
    return labels;
  }

  [[nodiscard]] Image seen(std::size_t row, const View& view, SizeRule rule) {
    const std::size_t i = usable_[row];
    if (cache_[i]) return apply(view, *cache_[i], rule);
    Image image = dataset_.read(i);
    Image result = apply(view, image, rule);
    keep(i, std::move(image));
    return result;
  }

  // Tries them all, and leaves out those that cannot be read.
  void leave_out_bad(unsigned threads) {
    std::vector<std::string> reasons(dataset_.size());
    parallel_for(threads, dataset_.size(), 16, [&](std::size_t begin, std::size_t end, unsigned) {
      for (std::size_t i = begin; i < end; ++i) {
        try {
          keep(i, dataset_.read(i));
        } catch (const Error& error) {
          reasons[i] = error.what();
        }
      }
    });
    usable_.clear();
    for (std::size_t i = 0; i < dataset_.size(); ++i)
      if (reasons[i].empty())
        usable_.push_back(i);
      else
        bad_.push_back({dataset_.name(i), reasons[i]});
  }

  // Leaves out what an earlier run left out.
  void leave_out(std::vector<BadPicture> bad) {
    bad_ = std::move(bad);
    std::erase_if(usable_, [&](std::size_t i) {
      return std::ranges::find(bad_, dataset_.name(i), &BadPicture::name) != bad_.end();
    });
  }

 private:
  void keep(std::size_t i, Image image) {
    const auto bytes = static_cast<std::int64_t>(image.pixels.size());
    if (cache_bytes_left_.fetch_sub(bytes) >= bytes)
      cache_[i] = std::move(image);
    else
      cache_bytes_left_.fetch_add(bytes);
  }

  ImageDataset dataset_;
  std::vector<std::size_t> usable_;
  std::vector<BadPicture> bad_;
  std::vector<std::optional<Image>> cache_;
  std::atomic<std::int64_t>& cache_bytes_left_;
};

std::map<std::string, fs::path> collections_of(const Extraction& request) {
  if (!request.split.empty() && !is_split_name(request.split))
    throw usage_error(fmt::format("'{}' is no split; they are base, val and novel", request.split));
  std::map<std::string, fs::path> splits = split_collections(request.images);
  if (splits.empty()) return {{request.split.empty() ? "novel" : request.split, request.images}};
  if (request.split.empty()) return splits;
  if (!splits.contains(request.split))
    throw data_error(fmt::format("{}: has no split '{}'", request.images.string(), request.split));
  return {{request.split, splits.at(request.split)}};
}

// What the model says of itself, for people; its hash tells whether it is the same.
json backbone_json(const fs::path& model) {
  json backbone{{"name", model.stem().string()}};
  if (is_torchscript(model)) return backbone;
  const ModelDescription description = description_of(model);
  backbone["source"] = description.source;
  backbone["licence"] = description.licence;
  backbone["trained_on"] = description.trained_on;
  return backbone;
}

void check_request(const Extraction& request, const Backbone& backbone) {
  if (request.views.empty()) throw usage_error("no views are given; --views 64 takes all");
  if (request.batch == 0) throw usage_error("a batch has at least one picture");
  std::set<std::string> names;
  for (const View& view : request.views) {
    if (!names.insert(name(view)).second)
      throw usage_error(fmt::format("view {} is given twice", name(view)));
    if (seen_size(view, request.size_rule) < backbone.smallest_input())
      throw usage_error(fmt::format("view {} is too small for this network, which needs {} pixels",
                                    name(view), backbone.smallest_input()));
  }
}

class Extractor {
 public:
  Extractor(const Extraction& request, Backbone& backbone, const ExtractionProgress& progress)
      : request_(request), backbone_(backbone), progress_(progress) {
    for (const auto& [split, path] : collections_of(request))
      splits_.try_emplace(split, path, cache_bytes_left_);
  }

  ExtractionResult run() {
    if (fs::exists(request_.store / "store.json"))
      go_on();
    else
      begin();
    std::vector<View> wanted;
    for (const View& view : request_.views)
      if (std::ranges::find(views_, name(view)) == views_.end()) wanted.push_back(view);
    result_.views_before = request_.views.size() - wanted.size();
    for (const auto& entry : splits_) total_ += wanted.size() * entry.second.size();
    start_ = std::chrono::steady_clock::now();
    for (const View& view : wanted) add(view);
    result_.seconds = seconds_since(start_);
    if (result_.pictures > 0) result_.pictures_per_second = speed();
    for (const auto& [split, pictures] : splits_)
      for (const BadPicture& bad : pictures.bad())
        result_.skipped.push_back(fmt::format("{}: {}", split, bad.reason));
    return std::move(result_);
  }

 private:
  void begin() {
    std::error_code error;
    if (fs::exists(request_.store) && !fs::is_empty(request_.store, error)) begin_again();
    fs::create_directories(request_.store, error);
    if (error)
      throw data_error(
          fmt::format("{}: cannot be created: {}", request_.store.string(), error.message()));
    for (auto& [split, pictures] : splits_) {
      if (request_.skip_bad) pictures.leave_out_bad(request_.threads);
      if (pictures.size() == 0)
        throw data_error(fmt::format("{}: split {} has no picture that can be read",
                                     request_.images.string(), split));
    }
    provenance_ = made_from();
    provenance_["backbone"] = backbone_json(request_.model);
  }

  // A run that ended before its first view left folders of splits, and nothing else.
  void begin_again() const {
    for (const auto& entry : fs::directory_iterator(request_.store))
      if (!is_split_name(entry.path().filename().string()))
        throw data_error(fmt::format("{}: is no feature store and not empty; choose another --out",
                                     request_.store.string()));
  }

  void go_on() {
    const FeatureStore store(request_.store);
    provenance_ = json::parse(store.provenance_json());
    if (!provenance_.is_object())
      throw data_error(
          fmt::format("{}: does not say what its features were made from; choose another --out",
                      request_.store.string()));
    const json skipped = provenance_.value("skipped", json::object());
    for (auto& [split, pictures] : splits_)
      pictures.leave_out(bad_pictures(skipped.value(split, json::array())));
    const json here = made_from();
    for (const auto& [key, value] : here.items())
      if (key != "version" && provenance_.value(key, json()) != value)
        throw data_error(fmt::format(
            "{}: holds features made with another {}; features of different origin do not mix, so "
            "choose another --out",
            request_.store.string(), key));
    if (store.dim() != backbone_.dim())
      throw data_error(fmt::format("{}: holds features of {} dimensions, but the network has {}",
                                   request_.store.string(), store.dim(), backbone_.dim()));
    views_ = store.views();
  }

  [[nodiscard]] std::vector<BadPicture> bad_pictures(const json& list) const {
    std::vector<BadPicture> bad;
    for (const json& entry : list) {
      if (!entry.is_object())
        throw data_error(fmt::format("{}: its list of skipped pictures is damaged",
                                     (request_.store / "store.json").string()));
      bad.push_back({entry.value("name", ""), entry.value("reason", "")});
    }
    return bad;
  }

  // All that features depend on.
  [[nodiscard]] json made_from() const {
    json data = json::object();
    json skipped = json::object();
    for (const auto& [split, pictures] : splits_) {
      data[split] = pictures.dataset().sha256();
      for (const BadPicture& bad : pictures.bad())
        skipped[split].push_back({{"name", bad.name}, {"reason", bad.reason}});
    }
    const PixelScale& pixels = backbone_.pixels();
    return {{"created_by", "deepvoro extract"},
            {"version", version()},
            {"model", sha256_hex(MappedFile(request_.model).bytes())},
            {"preprocessing",
             {{"size_rule", request_.size_rule == SizeRule::release ? "release" : "paper"},
              {"mean", pixels.mean},
              {"deviation", pixels.deviation}}},
            {"pictures", data},
            {"skipped", skipped}};
  }

  void add(const View& view) {
    for (auto& [split, pictures] : splits_) {
      fs::create_directories(request_.store / split);
      const std::vector<std::uint16_t> features = features_of(pictures, view);
      const std::array<std::uint64_t, 2> shape{pictures.size(), backbone_.dim()};
      write_npy(request_.store / split / (name(view) + ".npy"), "<f2", shape,
                std::as_bytes(std::span(features)));
    }
    views_.push_back(name(view));
    if (views_.size() == 1) write_labels();
    write_description();
    ++result_.views_made;
  }

  std::vector<std::uint16_t> features_of(Pictures& pictures, const View& view) {
    const std::size_t dim = backbone_.dim();
    std::vector<std::uint16_t> halves(pictures.size() * dim);
    std::vector<float> features(request_.batch * dim);
    const auto batch_at = [&](std::size_t begin) {
      std::vector<Image> batch(std::min(request_.batch, pictures.size() - begin));
      parallel_for(request_.threads, batch.size(), 4,
                   [&](std::size_t first, std::size_t last, unsigned) {
                     for (std::size_t i = first; i < last; ++i)
                       batch[i] = pictures.seen(begin + i, view, request_.size_rule);
                   });
      return batch;
    };
    struct Batch {
      std::size_t begin = 0;
      std::size_t count = 0;
      std::unique_ptr<PendingFeatures> pending;
    };
    const auto finish = [&](const Batch& batch) {
      const std::span<float> out = std::span(features).first(batch.count * dim);
      batch.pending->copy_to(out);
      for (std::size_t i = 0; i < out.size(); ++i)
        halves[batch.begin * dim + i] = half(out[i], pictures, batch.begin + i / dim);
      report(batch.count);
    };
    // A batch is read while the network sees the one before it, and a device has the next one
    // before the features of this one are taken.
    Batch last;
    std::future<std::vector<Image>> next = std::async(std::launch::async, batch_at, 0);
    for (std::size_t begin = 0; begin < pictures.size(); begin += request_.batch) {
      const std::vector<Image> batch = next.get();
      if (begin + request_.batch < pictures.size())
        next = std::async(std::launch::async, batch_at, begin + request_.batch);
      Batch current{begin, batch.size(), backbone_.begin(batch)};
      if (last.pending) finish(last);
      last = std::move(current);
    }
    finish(last);
    return halves;
  }

  [[nodiscard]] std::uint16_t half(float value, const Pictures& pictures, std::size_t row) const {
    if (!(std::abs(value) <= kLargestHalf))
      throw data_error(fmt::format("{}: the network gives {}, which float16 cannot hold",
                                   pictures.name(row), value));
    return float_to_half(value);
  }

  void report(std::size_t pictures) {
    if (result_.pictures == 0) {
      first_batch_ = pictures;
      first_batch_end_ = std::chrono::steady_clock::now();
    }
    result_.pictures += pictures;
    if (progress_)
      progress_(static_cast<double>(result_.pictures) / static_cast<double>(total_), speed());
  }

  // In the first batch the network makes itself ready.
  [[nodiscard]] double speed() const {
    if (result_.pictures == first_batch_)
      return static_cast<double>(result_.pictures) / seconds_since(start_);
    return static_cast<double>(result_.pictures - first_batch_) / seconds_since(first_batch_end_);
  }

  [[nodiscard]] static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void write_labels() const {
    for (const auto& [split, pictures] : splits_)
      write_store_labels(request_.store, split, pictures.labels());
  }

  void write_description() const {
    std::map<std::string, FeatureStore::Split> splits;
    for (const auto& [split, pictures] : splits_)
      splits[split] = {.samples = pictures.size(), .classes = pictures.dataset().classes()};
    write_store_description(request_.store, {.dim = backbone_.dim(),
                                             .views = views_,
                                             .splits = std::move(splits),
                                             .provenance = provenance_});
  }

  const Extraction& request_;
  Backbone& backbone_;
  const ExtractionProgress& progress_;
  std::atomic<std::int64_t> cache_bytes_left_{kCacheBytes};
  std::map<std::string, Pictures> splits_;
  std::vector<std::string> views_;
  json provenance_ = json::object();
  ExtractionResult result_;
  std::size_t total_ = 0;
  std::chrono::steady_clock::time_point start_;
  std::size_t first_batch_ = 0;
  std::chrono::steady_clock::time_point first_batch_end_;
};

}  // namespace

ExtractionResult extract(const Extraction& request, Backbone& backbone,
                         const ExtractionProgress& progress) {
  check_request(request, backbone);
  return Extractor(request, backbone, progress).run();
}

namespace {

// Sizes close to the one that a network was trained on give members of nearly the same accuracy and
// with other mistakes; larger ones are much weaker (docs/METHODS.md, classifier).
std::vector<View> four_close_views(SizeRule rule, std::size_t first_size) {
  const std::size_t step = std::max<std::size_t>(first_size / 14, 1);
  const std::size_t close = rule == SizeRule::release ? first_size - step : first_size + step;
  return {{first_size, 0, false}, {first_size, 0, true}, {close, 0, false}, {close, 0, true}};
}

}  // namespace

void check_number_of_views(const std::string& text) {
  constexpr std::array<std::string_view, 5> numbers{"1", "4", "8", "16", "64"};
  const bool has_names = text.find_first_not_of("0123456789, ") != std::string::npos;
  if (has_names || std::ranges::find(numbers, text) != numbers.end()) return;
  throw usage_error(
      fmt::format("--views: '{}' is no number of views; there are 1, 4, 8, 16 and 64, or names "
                  "with commas, as in "
                  "s84_r0_f0,s84_r0_f1",
                  text));
}

std::vector<View> parse_views(const std::string& text, SizeRule rule, std::size_t first_size) {
  check_number_of_views(text);
  if (text == "4") return four_close_views(rule, first_size);
  std::vector<View> views;
  const std::vector<View> all = all_views(rule);
  if (text == "64" || text == "16" || text == "8" || text == "1") {
    const std::size_t first = all.front().size;
    for (View view : all) {
      if (text == "16" && view.rotation != 0) continue;
      if (text == "8" && view.size != first) continue;
      if (text == "1" && view != all.front()) continue;
      view.size = view.size * first_size / first;
      views.push_back(view);
    }
    return views;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    views.push_back(view_named(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return views;
}

}  // namespace deepvoro
