#include "deepvoro/backbone/extraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "backbone/collections.hpp"
#include "core/files.hpp"
#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "core/stopwatch.hpp"
#include "core/temporary_name.hpp"
#include "deepvoro/backbone/embedder.hpp"
#include "deepvoro/backbone/onnx.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/core/version.hpp"
#include "deepvoro/features/store.hpp"
#include "features/npy.hpp"
#include "features/store_files.hpp"
#include "picture/bad_pictures.hpp"
#include "picture/collection.hpp"

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
class SplitPictures {
 public:
  SplitPictures(const fs::path& collection, ClassFolders folders,
                std::atomic<std::int64_t>& cache_bytes_left)
      : collection_(open_collection(collection, folders)),
        cache_(collection_.size()),
        cache_bytes_left_(cache_bytes_left) {
    for (std::size_t i = 0; i < collection_.size(); ++i) usable_.push_back(i);
  }

  [[nodiscard]] const PictureCollection& collection() const { return collection_; }
  [[nodiscard]] std::size_t size() const { return usable_.size(); }
  [[nodiscard]] const std::vector<BadPicture>& bad() const { return bad_; }

  [[nodiscard]] std::vector<std::int64_t> labels() const {
    std::vector<std::int64_t> labels;
    for (const std::size_t i : usable_)
      labels.push_back(static_cast<std::int64_t>(collection_.label(i)));
    return labels;
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const std::size_t i : usable_) names.push_back(collection_.name(i));
    return names;
  }

  // Refers to this.
  [[nodiscard]] PictureList list() {
    return {.size = usable_.size(),
            .read = [this](std::size_t row) { return read(usable_[row]); },
            .where = [this](std::size_t row) { return collection_.name(usable_[row]); }};
  }

  // Tries them all, and leaves out those that cannot be read.
  void leave_out_bad(unsigned threads) {
    constexpr std::size_t pictures_at_once = 16;
    BadPictures found(BadPictures::Policy::skip);
    parallel_for(threads, collection_.size(), pictures_at_once,
                 [&](std::size_t begin, std::size_t end, unsigned) {
                   for (std::size_t i = begin; i < end; ++i)
                     if (std::optional<Bitmap> bitmap = found.read(collection_, i))
                       keep(i, std::make_shared<const Bitmap>(std::move(*bitmap)));
                 });
    std::vector<BadPicture> bad;
    for (const auto& [index, reason] : found.list())
      bad.push_back({collection_.name(index), reason});
    leave_out(std::move(bad));
  }

  void leave_out(std::vector<BadPicture> bad) {
    bad_ = std::move(bad);
    std::set<std::string> names;
    for (const BadPicture& one : bad_) names.insert(one.name);
    std::erase_if(usable_, [&](std::size_t i) { return names.contains(collection_.name(i)); });
  }

 private:
  [[nodiscard]] std::shared_ptr<const Bitmap> read(std::size_t i) {
    if (cache_[i]) return cache_[i];
    auto bitmap = std::make_shared<const Bitmap>(collection_.read(i));
    keep(i, bitmap);
    return bitmap;
  }

  void keep(std::size_t i, std::shared_ptr<const Bitmap> bitmap) {
    const auto bytes = static_cast<std::int64_t>(bitmap->pixels.size());
    if (cache_bytes_left_.fetch_sub(bytes) >= bytes)
      cache_[i] = std::move(bitmap);
    else
      cache_bytes_left_.fetch_add(bytes);
  }

  PictureCollection collection_;
  std::vector<std::size_t> usable_;
  std::vector<BadPicture> bad_;
  std::vector<std::shared_ptr<const Bitmap>> cache_;
  std::atomic<std::int64_t>& cache_bytes_left_;
};

std::map<std::string, fs::path> collections_of(const Extraction& request) {
  if (!request.split.empty() && !is_split_name(request.split))
    throw usage_error(fmt::format("'{}' is not a split; use base, val or novel", request.split));
  std::map<std::string, fs::path> splits = split_collections(request.pictures);
  if (splits.empty()) return {{request.split.empty() ? "novel" : request.split, request.pictures}};
  if (request.split.empty()) return splits;
  if (!splits.contains(request.split))
    throw data_error(
        fmt::format("{}: has no split '{}'", request.pictures.string(), request.split));
  return {{request.split, splits.at(request.split)}};
}

void create_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw data_error(fmt::format("{}: cannot be created: {}{}", folder.string(), error.message(),
                                 writing_advice(error.value())));
}

// What the model says of itself, for people; its hash tells whether it is the same.
json backbone_json(const fs::path& model) {
  json backbone{{"name", model.stem().string()}};
  if (is_torchscript(model)) return backbone;
  const auto describe = [&](const auto& description) {
    backbone["source"] = description.source;
    backbone["licence"] = description.licence;
    backbone["trained_on"] = description.trained_on;
  };
  if (is_onnx(model))
    describe(onnx_options_of(model));
  else
    describe(description_of(model));
  return backbone;
}

class Extractor {
 public:
  Extractor(const Extraction& request, Backbone& backbone, const ExtractionProgress& progress)
      : request_(request),
        backbone_(backbone),
        embedder_(backbone, request.views, request.size_rule),
        progress_(progress) {
    if (request.batch == 0) throw usage_error("a batch needs at least one picture");
    for (const auto& [split, path] : collections_of(request))
      splits_.try_emplace(split, path, request.folders, cache_bytes_left_);
  }

  ExtractionResult run() {
    if (fs::exists(request_.out / "store.json"))
      go_on();
    else
      begin();
    std::vector<View> wanted;
    for (const View& view : request_.views)
      if (std::ranges::find(views_, name(view)) == views_.end()) wanted.push_back(view);
    result_.views_before = request_.views.size() - wanted.size();
    for (const auto& entry : splits_) total_ += wanted.size() * entry.second.size();
    working_ = Stopwatch();
    for (const View& view : wanted) add(view);
    result_.seconds = working_.seconds();
    if (result_.pictures > 0) result_.pictures_per_second = speed();
    for (const auto& [split, pictures] : splits_) {
      std::ranges::copy(pictures.collection().notes(), std::back_inserter(result_.notes));
      for (const BadPicture& bad : pictures.bad())
        result_.skipped.push_back(fmt::format("{}: {}", split, bad.reason));
    }
    return std::move(result_);
  }

 private:
  void begin() {
    std::error_code error;
    if (fs::exists(request_.out) && !fs::is_empty(request_.out, error)) begin_again();
    create_folder(request_.out);
    for (auto& [split, pictures] : splits_) {
      if (request_.skip_bad) pictures.leave_out_bad(request_.threads);
      if (pictures.size() == 0)
        throw data_error(fmt::format("{}: split {} has no picture that can be read",
                                     request_.pictures.string(), split));
    }
    provenance_ = made_from();
    provenance_["backbone"] = backbone_json(request_.model);
  }

  // A run that ended before its first view left folders of splits, and nothing else.
  void begin_again() const {
    remove_leftovers(request_.out / "store.json");
    for (const auto& entry : fs::directory_iterator(request_.out))
      if (!is_split_name(entry.path().filename().string()))
        throw data_error(
            fmt::format("{}: is not empty and not a feature store; choose another `out`",
                        request_.out.string()));
  }

  void go_on() {
    const FeatureStore store(request_.out);
    provenance_ = parse_json(store.provenance_json());
    if (!provenance_.is_object())
      throw data_error(
          fmt::format("{}: does not say what its features were made from; choose another `out`",
                      request_.out.string()));
    const json skipped = provenance_.value("skipped", json::object());
    for (auto& [split, pictures] : splits_)
      pictures.leave_out(bad_pictures(skipped.value(split, json::array())));
    const json here = made_from();
    for (const auto& [key, value] : here.items())
      if (key != "version" && provenance_.value(key, json()) != value)
        throw data_error(
            fmt::format("{}: holds features made with another {}; features of different origin "
                        "cannot be mixed; choose another `out`",
                        request_.out.string(), key));
    if (const std::size_t dim = store.dim(store.views().front()); dim != backbone_.dim())
      throw data_error(fmt::format("{}: holds features of {} dimensions, but the network has {}",
                                   request_.out.string(), dim, backbone_.dim()));
    views_ = store.views();
  }

  [[nodiscard]] std::vector<BadPicture> bad_pictures(const json& list) const {
    std::vector<BadPicture> bad;
    for (const json& entry : list) {
      if (!entry.is_object())
        throw data_error(fmt::format("{}: its list of skipped pictures is damaged",
                                     (request_.out / "store.json").string()));
      bad.push_back({entry.value("name", ""), entry.value("reason", "")});
    }
    return bad;
  }

  // All that features depend on.
  [[nodiscard]] json made_from() const {
    json data = json::object();
    json skipped = json::object();
    for (const auto& [split, pictures] : splits_) {
      data[split] = pictures.collection().sha256();
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
      create_folder(request_.out / split);
      const std::vector<std::uint16_t> features =
          embedder_.embed(pictures.list(), view,
                          {.size = request_.batch,
                           .threads = request_.threads,
                           .finished = [this](std::size_t count) { report(count); }});
      const std::array<std::uint64_t, 2> shape{pictures.size(), backbone_.dim()};
      write_npy(request_.out / split / (name(view) + ".npy"), "<f2", shape,
                std::as_bytes(std::span(features)));
    }
    views_.push_back(name(view));
    if (views_.size() == 1) write_labels();
    write_description();
    ++result_.views_made;
  }

  void report(std::size_t pictures) {
    if (result_.pictures == 0) {
      first_batch_ = pictures;
      after_first_batch_ = Stopwatch();
    }
    result_.pictures += pictures;
    if (progress_)
      progress_(static_cast<double>(result_.pictures) / static_cast<double>(total_), speed());
  }

  // In the first batch the network makes itself ready.
  [[nodiscard]] double speed() const {
    if (result_.pictures == first_batch_)
      return static_cast<double>(result_.pictures) / working_.seconds();
    return static_cast<double>(result_.pictures - first_batch_) / after_first_batch_.seconds();
  }

  void write_labels() const {
    for (const auto& [split, pictures] : splits_) {
      write_store_labels(request_.out, split, pictures.labels());
      write_row_names(request_.out, split, pictures.names());
    }
  }

  void write_description() const {
    std::map<std::string, FeatureStore::Split> splits;
    for (const auto& [split, pictures] : splits_)
      splits[split] = {.samples = pictures.size(), .classes = pictures.collection().classes()};
    write_store_description(request_.out, {.dim = backbone_.dim(),
                                           .views = views_,
                                           .splits = std::move(splits),
                                           .provenance = provenance_});
  }

  const Extraction& request_;
  Backbone& backbone_;
  Embedder embedder_;
  const ExtractionProgress& progress_;
  std::atomic<std::int64_t> cache_bytes_left_{kCacheBytes};
  std::map<std::string, SplitPictures> splits_;
  std::vector<std::string> views_;
  json provenance_ = json::object();
  ExtractionResult result_;
  std::size_t total_ = 0;
  Stopwatch working_;
  std::size_t first_batch_ = 0;
  Stopwatch after_first_batch_;
};

}  // namespace

ExtractionResult extract(const Extraction& request, Backbone& backbone,
                         const ExtractionProgress& progress) {
  return Extractor(request, backbone, progress).run();
}

}  // namespace deepvoro
