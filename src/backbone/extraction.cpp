#include "deepvoro/backbone/extraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "backbone/extraction_inputs.hpp"
#include "core/files.hpp"
#include "core/json_text.hpp"
#include "core/stopwatch.hpp"
#include "core/temporary_name.hpp"
#include "deepvoro/backbone/embedder.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/features/store.hpp"
#include "features/npy.hpp"
#include "features/store_files.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void create_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw data_error(fmt::format("{}: cannot be created: {}{}", folder.string(), error.message(),
                                 writing_advice(error.value())));
}

// What differs in the preprocessing, in words.
std::string other_preprocessing(const json& theirs, const json& ours) {
  if (!theirs.is_object() || theirs.value("size_rule", json()) != ours.at("size_rule"))
    return "with another size rule";
  for (const char* key : {"mean", "deviation"})
    if (theirs.value(key, json()) != ours.at(key)) return "with another pixel scale";
  if (!ours.contains(kFastDecodeSide)) return "with `fast_decode`";
  if (!theirs.contains(kFastDecodeSide)) return "without `fast_decode`";
  return "with `fast_decode` for smaller views";
}

// How features of a store were made, in words, where that differs from what is asked for.
std::optional<std::string> other_origin(const json& theirs, const json& ours) {
  const auto differs = [&](const char* key) { return theirs.value(key, json()) != ours.at(key); };
  if (differs("model")) return "with another model";
  if (differs("preprocessing"))
    return other_preprocessing(theirs.value("preprocessing", json()), ours.at("preprocessing"));
  if (differs("skipped")) return "with other pictures skipped";
  if (differs("pictures")) return "of other pictures";
  return std::nullopt;
}

class Extractor {
 public:
  Extractor(const Extraction& request, Backbone& backbone, const ExtractionProgress& progress)
      : request_(request),
        backbone_(backbone),
        embedder_(backbone, request.views, request.size_rule),
        progress_(progress),
        inputs_(request, backbone) {}

  ExtractionResult run() {
    if (fs::exists(request_.out / "store.json"))
      go_on();
    else
      begin();
    std::vector<View> wanted;
    for (const View& view : request_.views)
      if (std::ranges::find(views_, name(view)) == views_.end()) wanted.push_back(view);
    result_.views_before = request_.views.size() - wanted.size();
    for (const auto& entry : inputs_.splits()) total_ += wanted.size() * entry.second.size();
    working_ = Stopwatch();
    for (const View& view : wanted) add(view);
    result_.seconds = working_.seconds();
    if (result_.pictures > 0) result_.pictures_per_second = speed();
    result_.notes = inputs_.notes();
    result_.skipped = inputs_.skipped();
    return std::move(result_);
  }

 private:
  void begin() {
    std::error_code error;
    if (fs::exists(request_.out) && !fs::is_empty(request_.out, error)) begin_again();
    create_folder(request_.out);
    inputs_.take_usable();
    provenance_ = made_from();
    provenance_["backbone"] = inputs_.told_of_backbone();
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
    if (!provenance_.is_object() || !provenance_.contains("created_by"))
      throw data_error(
          fmt::format("{}: does not say what its features were made from; choose another `out`",
                      request_.out.string()));
    const std::string where = request_.out.string();
    if (const json& creator = provenance_.at("created_by"); creator != kExtract)
      throw data_error(
          fmt::format("{}: was made by '{}', and views are only added to stores that "
                      "'{}' made; choose another `out`",
                      where, creator.is_string() ? creator.get<std::string>() : "?", kExtract));
    keep_side();
    const json skipped = provenance_.value("skipped", json::object());
    for (auto& [split, pictures] : inputs_.splits())
      pictures.leave_out(bad_pictures(skipped.value(split, json::array())));
    if (const auto other = other_origin(provenance_, made_from()))
      throw data_error(
          fmt::format("{}: holds features made {}; features of different origin cannot be mixed; "
                      "choose another `out`",
                      where, *other));
    if (const std::size_t dim = store.dim(store.views().front()); dim != backbone_.dim())
      throw data_error(fmt::format("{}: holds features of {} dimensions, but the network has {}",
                                   request_.out.string(), dim, backbone_.dim()));
    views_ = store.views();
  }

  // Views that are smaller than those in the store are made of the same pixels.
  void keep_side() {
    const json preprocessing = provenance_.value("preprocessing", json());
    if (!request_.fast_decode || !preprocessing.is_object()) return;
    const json side = preprocessing.value(kFastDecodeSide, json());
    if (side.is_number_unsigned() && side.get<std::size_t>() > inputs_.least_side())
      inputs_.keep_side(side.get<std::size_t>());
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
    json from = inputs_.settings();
    from["pictures"] = inputs_.picture_hashes();
    return from;
  }

  void add(const View& view) {
    for (auto& [split, pictures] : inputs_.splits()) {
      create_folder(request_.out / split);
      const std::vector<std::uint16_t> features =
          embedder_.embed(pictures.list(0, pictures.size()), view,
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
    for (const auto& [split, pictures] : inputs_.splits()) {
      std::vector<std::int64_t> labels;
      std::vector<std::string> names;
      for (std::size_t row = 0; row < pictures.size(); ++row) {
        labels.push_back(pictures.label(row));
        names.push_back(pictures.name(row));
      }
      write_store_labels(request_.out, split, labels);
      write_row_names(request_.out, split, names);
    }
  }

  void write_description() const {
    std::map<std::string, FeatureStore::Split> splits;
    for (const auto& [split, pictures] : inputs_.splits())
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
  ExtractionInputs inputs_;
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
