#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "backbone/extraction_inputs.hpp"
#include "backbone/extraction_pieces.hpp"
#include "core/sha256.hpp"
#include "deepvoro/backbone/embedder.hpp"
#include "deepvoro/backbone/extraction_shards.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "shard/piece_folder.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

std::vector<SplitPieces> numbered_pieces(const Extraction& request,
                                         const ExtractionInputs& inputs) {
  std::vector<SplitPieces> all;
  for (const auto& [split, pictures] : inputs.splits())
    all.emplace_back(split, all.empty() ? 0 : all.back().end_piece(), pictures.size(),
                     request.views.size(), request.batch);
  return all;
}

json work_of_extraction(const Extraction& request, const Backbone& backbone,
                        const ExtractionInputs& inputs, std::size_t pieces) {
  const json settings = inputs.settings();
  json views = json::array();
  for (const View& view : request.views) views.push_back(name(view));
  json splits = json::object();
  for (const auto& [split, pictures] : inputs.splits())
    splits[split] = {{"pictures", pictures.size()}, {"names_and_sizes", pictures.listing_sha256()}};
  return {
      {"command", "extract"},          {"program", {{"version", version()}, {"commit", commit()}}},
      {"model", settings.at("model")}, {"preprocessing", settings.at("preprocessing")},
      {"device", request.device},      {"batch", request.batch},
      {"dim", backbone.dim()},         {"views", std::move(views)},
      {"splits", std::move(splits)},   {"pieces", pieces}};
}

// Makes pieces of one split, in ascending order: what is decoded serves all views of a block.
class SplitShare {
 public:
  SplitShare(const Extraction& request, Embedder& embedder, SplitPictures& pictures,
             const SplitPieces& pieces)
      : request_(request), embedder_(embedder), pictures_(pictures), pieces_(pieces) {}

  struct Made {
    json facts;
    std::vector<std::byte> content;
  };

  Made make(std::size_t piece, const Progress& progress) {
    go_to(pieces_.block_of(piece));
    Made made{{{"pictures_sha256", lines_sha256_}}, {}};
    if (const auto view = pieces_.view_of(piece))
      made.content = features(request_.views[*view], progress);
    else
      list(made);
    return made;
  }

 private:
  void go_to(std::size_t block) {
    const PieceRange rows = pieces_.rows_of(block);
    if (rows == rows_) return;
    pictures_.forget(rows_.begin, rows_.end);
    rows_ = rows;
    lines_ = pictures_.sha256_lines(rows.begin, rows.end);
    lines_sha256_ = sha256_hex(lines_);
  }

  // Labels, names, and the lines of which the hash of all pictures is made.
  void list(Made& made) const {
    std::vector<std::int64_t> labels;
    std::string names;
    for (std::size_t row = rows_.begin; row < rows_.end; ++row) {
      labels.push_back(pictures_.label(row));
      names += pictures_.name(row) + "\n";
    }
    made.facts["names_bytes"] = names.size();
    append(made.content, std::as_bytes(std::span(labels)));
    append(made.content, std::as_bytes(std::span(names)));
    append(made.content, std::as_bytes(std::span(lines_)));
  }

  [[nodiscard]] std::vector<std::byte> features(const View& view, const Progress& progress) {
    std::size_t seen = 0;
    const auto report = [&](std::size_t count) {
      seen += count;
      if (progress) progress(static_cast<double>(seen) / static_cast<double>(rows_.size()));
    };
    const std::vector<std::uint16_t> halves =
        embedder_.embed(pictures_.list(rows_.begin, rows_.end), view,
                        {.size = request_.batch, .threads = request_.threads, .finished = report});
    std::vector<std::byte> content;
    append(content, std::as_bytes(std::span(halves)));
    return content;
  }

  static void append(std::vector<std::byte>& content, std::span<const std::byte> bytes) {
    content.insert(content.end(), bytes.begin(), bytes.end());
  }

  const Extraction& request_;
  Embedder& embedder_;
  SplitPictures& pictures_;
  const SplitPieces& pieces_;
  PieceRange rows_;  // of the block that is worked on
  std::string lines_;
  std::string lines_sha256_;
};

// What the first piece tells for all.
json told_once(const ExtractionInputs& inputs) {
  json provenance = inputs.settings();
  provenance["backbone"] = inputs.told_of_backbone();
  json classes = json::object();
  for (const auto& [split, pictures] : inputs.splits())
    classes[split] = pictures.collection().classes();
  return {{"provenance", std::move(provenance)}, {"classes", std::move(classes)}};
}

std::size_t split_of(const std::vector<SplitPieces>& splits, std::size_t piece) {
  std::size_t split = 0;
  while (piece >= splits[split].end_piece()) ++split;
  return split;
}

}  // namespace

ExtractedShare extract_share(const Extraction& request, Backbone& backbone, PieceDealer& dealer,
                             const Progress& progress) {
  Embedder embedder(backbone, request.views, request.size_rule);
  ExtractionInputs inputs(request, backbone);
  inputs.take_usable();
  for (auto& entry : inputs.splits()) entry.second.forget(0, entry.second.size());
  const std::vector<SplitPieces> splits = numbered_pieces(request, inputs);
  const std::size_t count = splits.back().end_piece();
  if (std::filesystem::exists(request.out / "store.json"))
    throw data_error(
        fmt::format("{}: is a feature store, not a folder of pieces; choose another `out`",
                    request.out.string()));
  const PieceFolder folder(request.out, work_of_extraction(request, backbone, inputs, count));

  std::vector<SplitShare> workers;
  workers.reserve(splits.size());
  for (const SplitPieces& pieces : splits)
    workers.emplace_back(request, embedder, inputs.splits().at(pieces.split()), pieces);
  const PieceRange all{0, count};
  const auto missing = [&](PieceRange range) { return folder.missing(range); };
  const auto make = [&](PieceRange run, const Progress& of_run) {
    for (std::size_t piece = run.begin; piece < run.end; ++piece) {
      auto [facts, content] = workers[split_of(splits, piece)].make(
          piece, part_of(of_run, piece - run.begin, run.size()));
      if (piece == 0) facts.update(told_once(inputs));
      folder.write(piece, facts, content);
    }
  };
  return {.report = {.pieces = dealer.count({&all, 1}),
                     .made = dealer.deal({&all, 1}, missing, make, progress)},
          .skipped = inputs.skipped(),
          .notes = inputs.notes()};
}

}  // namespace deepvoro
