#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backbone/extraction_pieces.hpp"
#include "core/files.hpp"
#include "core/sha256.hpp"
#include "deepvoro/backbone/extraction_shards.hpp"
#include "deepvoro/core/error.hpp"
#include "features/json_fields.hpp"
#include "features/new_store_folder.hpp"
#include "features/npy.hpp"
#include "features/store_files.hpp"
#include "shard/complete_pieces.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Numbers from a file, which may be anyone's, must not make products too large to count.
std::size_t sensible(const JsonFields& fields, const char* key, std::size_t most) {
  const std::size_t value = fields.whole(key, 1);
  if (value > most) fields.fail(key, "is too large");
  return value;
}

constexpr std::size_t kMostPictures = 1'000'000'000'000;
constexpr std::size_t kLargestDim = 1'000'000;

std::vector<std::string> texts_of(const json& list, const JsonFields& fields, const char* key) {
  std::vector<std::string> texts;
  for (const json& text : list) {
    if (!text.is_string()) fields.fail(key, "is not a list of texts");
    texts.push_back(text);
  }
  return texts;
}

class ExtractionMerge {
 public:
  ExtractionMerge(const CompletePieces& pieces, const fs::path& store)
      : pieces_(pieces),
        work_(pieces.work(), pieces.file(0).string()),
        store_(store),
        described_{.dim = sensible(work_, "dim", kLargestDim),
                   .dims = {},
                   .views = texts_of(work_.list("views"), work_, "views"),
                   .splits = {},
                   .provenance = {}} {}

  MergedExtraction run() {
    take_what_the_first_tells();
    const std::vector<SplitPieces> splits = numbered_splits();
    MergedExtraction merged{.views = described_.views.size(), .dim = described_.dim};
    for (const SplitPieces& split : splits) {
      fs::create_directory(store_.path() / split.split());
      described_.provenance["pictures"][split.split()] = write_lists(split);
      for (std::size_t view = 0; view < described_.views.size(); ++view) write_view(split, view);
      merged.pictures += split.rows();
    }
    write_store_description(store_.path(), described_);
    store_.commit();
    return merged;
  }

 private:
  void take_what_the_first_tells() {
    const PieceFile first = pieces_.open(0);
    const JsonFields facts(first.manifest().facts, first.where());
    (void)facts.object("provenance");
    described_.provenance = first.manifest().facts.at("provenance");
    const JsonFields classes = facts.object("classes");
    for (const auto& [split, list] : work_json("splits").items())
      described_.splits[split] = {
          .samples =
              sensible(work_.object("splits").object(split.c_str()), "pictures", kMostPictures),
          .classes = texts_of(classes.list(split.c_str()), classes, split.c_str())};
  }

  [[nodiscard]] const json& work_json(const char* key) const {
    (void)work_.object(key);
    return pieces_.work().at(key);
  }

  // Names become names of files, so they are looked at before.
  [[nodiscard]] std::vector<SplitPieces> numbered_splits() const {
    if (described_.views.empty()) work_.fail("views", "is empty");
    for (const std::string& view : described_.views)
      if (!is_view_name(view)) work_.fail("views", "has a name that no view can have");
    std::vector<SplitPieces> all;
    for (const auto& [split, size] : described_.splits) {
      if (!is_split_name(split)) work_.fail("splits", "has a name that no split can have");
      all.emplace_back(split, all.empty() ? 0 : all.back().end_piece(), size.samples,
                       described_.views.size(), sensible(work_, "batch", kMostPictures));
    }
    if (all.empty() || all.back().end_piece() != pieces_.size())
      work_.fail("pieces", "is not as many as the pictures and views have");
    return all;
  }

  // Labels and names of a split; the hash of its pictures.
  std::string write_lists(const SplitPieces& split) {
    AtomicFile labels(store_.path() / split.split() / "labels.npy");
    AtomicFile names(names_file(store_.path(), split.split()));
    labels.write(npy_header("<i8", std::array<std::uint64_t, 1>{split.rows()}));
    Sha256 sum;
    for (std::size_t block = 0; block < split.blocks(); ++block) {
      const PieceFile piece = pieces_.open(split.list_piece(block));
      const std::span<const std::byte> content = piece.content();
      const std::size_t label_bytes = split.rows_of(block).size() * sizeof(std::int64_t);
      const std::size_t name_bytes =
          JsonFields(piece.manifest().facts, piece.where()).whole("names_bytes", 1);
      if (label_bytes > content.size() || name_bytes > content.size() - label_bytes)
        piece.refuse_as_damaged();
      check_labels(content.first(label_bytes), split, piece);
      labels.write(content.first(label_bytes));
      names.write(content.subspan(label_bytes, name_bytes));
      sum.add(content.subspan(label_bytes + name_bytes));
    }
    labels.commit();
    names.commit();
    return sum.hex();
  }

  void check_labels(std::span<const std::byte> bytes, const SplitPieces& split,
                    const PieceFile& piece) const {
    std::vector<std::int64_t> labels(bytes.size() / sizeof(std::int64_t));
    std::memcpy(labels.data(), bytes.data(), bytes.size());
    const std::size_t classes = described_.splits.at(split.split()).classes.size();
    for (const std::int64_t label : labels)
      if (label < 0 || static_cast<std::size_t>(label) >= classes) piece.refuse_as_damaged();
  }

  void write_view(const SplitPieces& split, std::size_t view) const {
    const std::string& name = described_.views[view];
    AtomicFile file(store_.path() / split.split() / (name + ".npy"));
    file.write(npy_header("<f2", std::array<std::uint64_t, 2>{split.rows(), described_.dim}));
    for (std::size_t block = 0; block < split.blocks(); ++block) {
      const PieceFile piece = pieces_.open(split.view_piece(block, view));
      refuse_other_pictures(piece, pieces_.open(split.list_piece(block)));
      const std::span<const std::byte> content = piece.content();
      if (content.size() != split.rows_of(block).size() * described_.dim * sizeof(std::uint16_t))
        piece.refuse_as_damaged();
      file.write(content);
    }
    file.commit();
  }

  static void refuse_other_pictures(const PieceFile& piece, const PieceFile& list) {
    const auto pictures = [](const PieceFile& one) {
      return JsonFields(one.manifest().facts, one.where()).text("pictures_sha256");
    };
    if (pictures(piece) != pictures(list))
      throw data_error(
          fmt::format("{}: was made from other pictures than {}; the pictures changed in between, "
                      "run all shards again with another `out`",
                      piece.where(), list.where()));
  }

  const CompletePieces& pieces_;
  JsonFields work_;
  NewStoreFolder store_;
  StoreDescription described_;
};

}  // namespace

MergedExtraction merge_extraction(std::span<const fs::path> folders, const fs::path& store) {
  const CompletePieces pieces(folders, "extract");
  return ExtractionMerge(pieces, store).run();
}

}  // namespace deepvoro
