#include "deepvoro/study/study_shards.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"
#include "features/json_fields.hpp"
#include "shard/complete_pieces.hpp"
#include "shard/difference_of_works.hpp"
#include "shard/piece_folder.hpp"
#include "study/paper/registry.hpp"
#include "study/paper/study_run.hpp"
#include "study/plan_json.hpp"
#include "study/store_of_pieces.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

json work_of_study(const StudyRun& run) {
  json work = run.settings();
  work["command"] = "study";
  work["pieces"] = run.units();
  return work;
}

template <class Value>
std::vector<Value> values_of(const JsonFields& fields, const char* key) {
  try {
    return fields.list(key).get<std::vector<Value>>();
  } catch (const json::exception&) {
    fields.fail(key, "has a value of the wrong kind");
  }
}

// None where the study has its own.
std::vector<std::size_t> shots_of_pieces(const PieceFile& piece) {
  const json& work = piece.manifest().work;
  const auto shots = work.find("shots");
  if (shots != work.end() && *shots == json::array()) return {};
  return values_of<std::size_t>(JsonFields(work, piece.where()), "shots");
}

// The request again: what all pieces say, and where the first one found the stores.
StudyRequest request_of_pieces(const PieceFile& first, unsigned threads) {
  const JsonFields work(first.manifest().work, first.where());
  const JsonFields settings = work.object("settings");
  StudyRequest request{.study = work.text("study"),
                       .stores = {},
                       .shots = shots_of_pieces(first),
                       .plan = plan_without_shots(settings),
                       .is_signed = settings.flag("signed"),
                       .threads = threads};
  const JsonFields facts(first.manifest().facts, first.where());
  for (const std::string& store : values_of<std::string>(facts, "stores"))
    request.stores.push_back(store_of_pieces(store, first.where()).folder());
  try {
    check(request);
  } catch (const Error& error) {
    // What a file says was not typed by whoever runs this.
    throw data_error(fmt::format("{}: {}", first.where(), error.what()));
  }
  return request;
}

}  // namespace

ShareReport study_share(const StudyRequest& request, PieceDealer& dealer,
                        const std::filesystem::path& folder, const Progress& progress) {
  check(request);
  const PaperStudy& study = study_named(request.study);
  if (!study.keeps_steps)
    throw usage_error(
        fmt::format("study {} measures times, which depend on the machine; run it without `shard`",
                    request.study));
  StudyRun run(study, request, folder, {});
  const PieceFolder pieces(folder, work_of_study(run));
  json stores = json::array();
  for (const std::filesystem::path& store : request.stores) stores.push_back(store.string());
  const PieceRange all{0, run.units()};
  const auto missing = [&](PieceRange range) { return pieces.missing(range); };
  const auto make = [&](PieceRange units, const Progress& of_units) {
    for (std::size_t unit = units.begin; unit < units.end; ++unit) {
      const json outcome =
          run.outcome_of(unit, part_of(of_units, unit - units.begin, units.size()));
      const std::string text = json_text(outcome);
      pieces.write(unit, {{"stores", stores}}, std::as_bytes(std::span(text)));
    }
  };
  return {.pieces = dealer.count({&all, 1}),
          .made = dealer.deal({&all, 1}, missing, make, progress)};
}

StudyResult merge_study(std::span<const std::filesystem::path> folders,
                        const std::filesystem::path& out, unsigned threads) {
  const CompletePieces pieces(folders, "study");
  const StudyRequest request = request_of_pieces(pieces.open(0), threads);
  StudyRun run(study_named(request.study), request, out, {});
  if (work_of_study(run) != pieces.work()) {
    run.remove_empty_folders();
    throw data_error(fmt::format(
        "{}: is of other stores or another version ({}) than are here; run the shards "
        "again with another `out`",
        pieces.file(0).string(), difference_of_works(pieces.work(), work_of_study(run))));
  }
  for (std::size_t unit = 0; unit < pieces.size(); ++unit) {
    const PieceFile piece = pieces.open(unit);
    const std::span<const std::byte> content = piece.content();
    if (!run.add(parse_json({reinterpret_cast<const char*>(content.data()), content.size()})))
      piece.refuse_as_damaged();
  }
  StudyResult result{.files = run.write()};
  run.remove_empty_folders();
  return result;
}

}  // namespace deepvoro
