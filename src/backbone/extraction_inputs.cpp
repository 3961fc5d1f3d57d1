#include "backbone/extraction_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "backbone/collections.hpp"
#include "backbone/network_input.hpp"
#include "core/files.hpp"
#include "core/sha256.hpp"
#include "deepvoro/backbone/onnx.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "deepvoro/features/store.hpp"
#include "features/store_files.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kCacheBytes = std::int64_t{1} << 30U;

std::map<std::string, fs::path> collections_of(const Extraction& request) {
  if (!request.split.empty() && !is_split_name(request.split))
    throw usage_error(fmt::format("'{}' is not a split; use base, val or novel", request.split));
  std::map<std::string, fs::path> splits = split_collections(request.pictures);
  if (splits.empty()) return {{request.split.empty() ? "novel" : request.split, request.pictures}};
  if (request.split.empty()) {
    check_nothing_beside(request.pictures, splits);
    return splits;
  }
  if (!splits.contains(request.split))
    throw data_error(
        fmt::format("{}: has no split '{}'", request.pictures.string(), request.split));
  return {{request.split, splits.at(request.split)}};
}

}  // namespace

ExtractionInputs::ExtractionInputs(const Extraction& request, const Backbone& backbone)
    : request_(request),
      backbone_(backbone),
      least_side_(NetworkInput{.light_strokes = backbone.light_strokes(),
                               .rule = request.size_rule,
                               .fast_decode = request.fast_decode}
                      .least_side(request.views)),
      cache_bytes_left_(kCacheBytes) {
  if (request.batch == 0) throw usage_error("a batch needs at least one picture");
  for (const auto& [split, path] : collections_of(request))
    splits_.try_emplace(split, path, request.folders, least_side_, cache_bytes_left_);
}

void ExtractionInputs::keep_side(std::size_t side) {
  least_side_ = side;
  for (auto& entry : splits_) entry.second.keep_side(side);
}

void ExtractionInputs::take_usable() {
  for (auto& [split, pictures] : splits_) {
    if (request_.skip_bad) pictures.leave_out_bad(request_.threads);
    if (pictures.size() == 0)
      throw data_error(fmt::format("{}: split {} has no picture that can be read",
                                   request_.pictures.string(), split));
  }
}

json ExtractionInputs::settings() const {
  json skipped = json::object();
  for (const auto& [split, pictures] : splits_)
    for (const BadPicture& bad : pictures.bad())
      skipped[split].push_back({{"name", bad.name}, {"reason", bad.reason}});
  const PixelScale& pixels = backbone_.pixels();
  json preprocessing{{"size_rule", request_.size_rule == SizeRule::release ? "release" : "paper"},
                     {"mean", pixels.mean},
                     {"deviation", pixels.deviation}};
  if (request_.fast_decode) preprocessing[kFastDecodeSide] = least_side_;
  return {{"created_by", kExtract},
          {"version", version()},
          {"model", sha256_hex(MappedFile(request_.model).bytes())},
          {"preprocessing", std::move(preprocessing)},
          {"skipped", skipped}};
}

json ExtractionInputs::picture_hashes() const {
  json hashes = json::object();
  for (const auto& [split, pictures] : splits_) hashes[split] = pictures.collection().sha256();
  return hashes;
}

json ExtractionInputs::told_of_backbone() const {
  json backbone{{"name", request_.model.stem().string()}};
  if (is_torchscript(request_.model)) return backbone;
  const auto describe = [&](const auto& description) {
    backbone["source"] = description.source;
    backbone["licence"] = description.licence;
    backbone["trained_on"] = description.trained_on;
  };
  if (is_onnx(request_.model))
    describe(onnx_options_of(request_.model));
  else
    describe(description_of(request_.model));
  return backbone;
}

std::vector<std::string> ExtractionInputs::notes() const {
  std::vector<std::string> notes;
  for (const auto& entry : splits_)
    std::ranges::copy(entry.second.collection().notes(), std::back_inserter(notes));
  return notes;
}

std::vector<std::string> ExtractionInputs::skipped() const {
  std::vector<std::string> skipped;
  for (const auto& [split, pictures] : splits_)
    for (const BadPicture& bad : pictures.bad())
      skipped.push_back(fmt::format("{}: {}", split, bad.reason));
  return skipped;
}

}  // namespace deepvoro
