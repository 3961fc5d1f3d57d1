#include "shard/piece.hpp"

#include <algorithm>
#include <array>

#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "fuzz/harness.hpp"
#include "shard/complete_pieces.hpp"
#include "shard/piece_folder.hpp"
#include "study/episode_answers.hpp"
#include "study/evaluation_settings.hpp"
#include "study/tuning_settings.hpp"

namespace deepvoro::fuzz {
namespace {

using nlohmann::json;

// With the right checksums, without which nothing beyond them would be reached.
std::string with_right_checksums(Bytes bytes) {
  const auto end = std::ranges::find(bytes, std::byte{'\n'});
  if (end == bytes.end()) return text_of(bytes);
  const auto length = static_cast<std::size_t>(end - bytes.begin());
  json line = parse_json(text_of(bytes.first(length)));
  if (!line.is_object()) return text_of(bytes);
  const Bytes content = bytes.subspan(length + 1);
  const auto as_line = [&] { return line.dump(-1, ' ', false, json::error_handler_t::replace); };
  line["bytes"] = content.size();
  line["sha256"] = sha256_hex(content);
  line.erase("manifest_sha256");
  line["manifest_sha256"] = sha256_hex(as_line());
  return as_line() + "\n" + text_of(content);
}

const Harness piece_harness("piece", [](Bytes bytes) {
  const std::string text = with_right_checksums(bytes);
  const auto file = file_with(std::as_bytes(std::span(text)), piece_path("pieces", 0).string());
  const PieceFile piece(file);
  EpisodeAnswers answers;
  (void)read_episode_answers(piece.content(), 2, {.ways = 3, .shots = 1, .queries = 2}, answers);
  const json& work = piece.manifest().work;
  if (work.is_object())
    for (const json& settings : work.value("evaluations", json()))
      (void)request_of(settings, "piece");
  if (work.is_object() && work.contains("tuning")) (void)tuning_of(work["tuning"], "piece");
  (void)CompletePieces(std::array{file.parent_path()}, "evaluate");
});

}  // namespace
}  // namespace deepvoro::fuzz
