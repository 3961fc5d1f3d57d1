#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/study/tuning_shards.hpp"
#include "features/json_fields.hpp"
#include "shard/complete_pieces.hpp"
#include "shard/difference_of_works.hpp"
#include "study/store_of_pieces.hpp"
#include "study/tuning_file.hpp"
#include "study/tuning_pieces.hpp"
#include "study/tuning_settings.hpp"

namespace deepvoro {

using nlohmann::json;

MergedTuning merge_tuning(std::span<const std::filesystem::path> folders,
                          const std::filesystem::path& out, unsigned threads) {
  const CompletePieces pieces(folders, "tune");
  const PieceFile first = pieces.open(0);
  const JsonFields work(pieces.work(), first.where());
  (void)work.object(kTuningKey);
  const json& description = pieces.work().at(kTuningKey);
  const FeatureStore store = store_of_pieces(
      JsonFields(first.manifest().facts, first.where()).text("store"), first.where());
  const Tuning request = completed(store, tuning_of(description, first.where()));
  const nlohmann::ordered_json described_again = described(request, store.sha256(threads));
  if (json(described_again) != description)
    throw data_error(fmt::format(
        "{}: is of another store, version or tuning ({}) than is merged; run the "
        "shards again with another `out`",
        first.where(),
        difference_of_works({{kTuningKey, description}}, {{kTuningKey, json(described_again)}})));
  const TuningPieces numbers(request);
  if (numbers.count() != pieces.size()) work.fail("pieces", "is not as many as the tuning has");
  std::size_t stage = 0;
  TuningResult result = choose_members(request, [&](const auto& steps) {
    return counts_of_stage(numbers, stage++, steps, request.plan.shape,
                           [&](std::size_t piece) { return pieces.open(piece); });
  });
  AtomicFile file(out);
  file.write(pool_file_text(result, described_again, store.folder().string()));
  file.commit();
  return {request, store.folder().string(), std::move(result)};
}

}  // namespace deepvoro
