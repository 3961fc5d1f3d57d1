#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "backbone/extraction_pieces.hpp"
#include "core/json_difference.hpp"
#include "expect_error.hpp"
#include "shard/complete_pieces.hpp"
#include "shard/piece_folder.hpp"
#include "study/evaluation_blocks.hpp"
#include "study/evaluation_run.hpp"
#include "study/tuning_pieces.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using test::expect_error;
using test::TemporaryFolder;

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Share, TogetherTheyHaveEverythingOnce) {
  for (const std::size_t count : {1U, 5U, 120U, 121U})
    for (const std::size_t workers : {1U, 2U, 3U, 7U, 16U, 200U}) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < workers; ++i) {
        const PieceRange part = part_of_share({i, workers}, count);
        EXPECT_EQ(part.begin, next);
        EXPECT_LE(part.size(), count / workers + 1);
        next = part.end;
      }
      EXPECT_EQ(next, count);
    }
}

TEST(Share, IsReadFromText) {
  EXPECT_EQ(share_named("2/8"), (Share{2, 8}));
  expect_error(ErrorKind::usage, {"`shard` '': is not a share", "I/N"},
               [] { (void)share_named(""); });
  for (const char* wrong : {"/", "8/8", "0/0", "1/2 ", "+1/2", "1/9999999", "0x1/2"})
    expect_error(ErrorKind::usage, {"`shard`", wrong}, [&] { (void)share_named(wrong); });
  expect_error(ErrorKind::usage, {"shares of 5 are 0/5 to 4/5"}, [] { (void)share_named("5/5"); });
  expect_error(ErrorKind::usage, {"1/0", "I/N"}, [] { (void)share_named("1/0"); });
}

TEST(EvaluationBlocks, HaveEveryEpisodeOnce) {
  for (const std::size_t episodes : {1U, 7U, 119U, 120U, 2000U}) {
    const EvaluationBlocks blocks(30, episodes);
    EXPECT_EQ(blocks.pieces().begin, 30U);
    std::size_t next = 0;
    for (std::size_t piece = 30; piece < blocks.end_piece(); ++piece) {
      const PieceRange range = blocks.episodes_of({piece, piece + 1});
      EXPECT_EQ(range.begin, next);
      EXPECT_GT(range.size(), 0U);
      next = range.end;
    }
    EXPECT_EQ(next, episodes);
    EXPECT_EQ(blocks.episodes_of(blocks.pieces()), (PieceRange{0, episodes}));
  }
}

TEST(EvaluationRun, DrawsNoEpisodeBehindThoseOfAShare) {
  const TemporaryFolder folder;
  test::write_store(folder.path(), test::noisy_splits());
  const FeatureStore store(folder.path());
  const Evaluation request{.method = Method::s2m2,
                           .plan = {.shape = {.ways = 3, .shots = 1, .queries = 5}, .count = 40}};
  const EvaluationRun run(store, request);
  EXPECT_EQ(run.stream()->drawn(), 0U);
  const EpisodeList share = run.episodes(10, 13);
  EXPECT_EQ(run.stream()->drawn(), 13U);
  ASSERT_EQ(share.size(), 3U);
  EXPECT_EQ(share.number(0), 10U);
  EXPECT_EQ(run.episodes().size(), 40U);
  EXPECT_TRUE(std::ranges::equal(share[2].query, run.episodes()[12].query));
}

TEST(SplitPieces, HaveEveryPictureOfEveryViewOnceInWholeBatches) {
  for (const std::size_t rows : {1U, 63U, 64U, 65U, 9000U, 200'000U})
    for (const std::size_t views : {1U, 64U}) {
      constexpr std::size_t batch = 64;
      const SplitPieces pieces("novel", 7, rows, views, batch);
      std::size_t next_row = 0;
      std::size_t next_piece = 7;
      for (std::size_t block = 0; block < pieces.blocks(); ++block) {
        const PieceRange of_block = pieces.rows_of(block);
        EXPECT_EQ(of_block.begin, next_row);
        EXPECT_EQ(of_block.begin % batch, 0U);
        next_row = of_block.end;
        EXPECT_EQ(pieces.list_piece(block), next_piece);
        EXPECT_EQ(pieces.view_of(next_piece), std::nullopt);
        EXPECT_EQ(pieces.block_of(next_piece++), block);
        for (std::size_t view = 0; view < views; ++view, ++next_piece) {
          EXPECT_EQ(pieces.view_piece(block, view), next_piece);
          EXPECT_EQ(pieces.block_of(next_piece), block);
          EXPECT_EQ(pieces.view_of(next_piece), view);
        }
      }
      EXPECT_EQ(next_row, rows);
      EXPECT_EQ(next_piece, pieces.end_piece());
    }
}

TEST(SplitPieces, AreEnoughForManyWorkersAndNotTooManyFiles) {
  EXPECT_EQ(SplitPieces("novel", 0, 12'000, 1, 64).blocks(), 188U);
  EXPECT_EQ(SplitPieces("novel", 0, 12'000, 64, 64).blocks(), 3U);
  EXPECT_LE(SplitPieces("novel", 0, 1'000'000'000, 64, 64).end_piece(), 110'000U);
}

TEST(TuningPieces, HaveEveryEpisodeOfEveryStepOnce) {
  for (const std::size_t episodes : {1U, 7U, 2000U}) {
    Tuning request{.method = Method::deepvoro_plus_plus, .plan = {.count = episodes}};
    request.views = {"a", "b", "c"};
    const TuningPieces pieces(request);
    ASSERT_EQ(pieces.stages(), 2U);
    std::size_t piece = 0;
    for (std::size_t stage = 0; stage < 2; ++stage)
      for (std::size_t step = 0; step < 3; ++step) {
        std::size_t next = 0;
        for (std::size_t block = 0; block < pieces.blocks(); ++block, ++piece) {
          EXPECT_EQ(pieces.step_of(stage, piece), step);
          EXPECT_EQ(pieces.episodes_of(piece).begin, next);
          next = pieces.episodes_of(piece).end;
        }
        EXPECT_EQ(next, episodes);
      }
    EXPECT_EQ(pieces.count(), piece);
  }
}

TEST(PieceFolder, KnowsWhatIsMissing) {
  const TemporaryFolder folder;
  const PieceFolder pieces(folder.path(), {{"pieces", 6}, {"seed", 0}});
  for (const std::size_t there : {1U, 4U}) pieces.write(there, json::object(), bytes("content"));
  EXPECT_EQ(pieces.missing({0, 6}), (std::vector<PieceRange>{{0, 1}, {2, 4}, {5, 6}}));
  EXPECT_EQ(pieces.missing({4, 5}), std::vector<PieceRange>());
  expect_error(ErrorKind::data, {"piece-000001", "seed 0, not 1"}, [&] {
    const PieceFolder others(folder.path(), {{"pieces", 5}, {"seed", 1}});
  });
  expect_error(ErrorKind::data, {"piece-000001", R"(command null, not "extract")"}, [&] {
    const PieceFolder others(folder.path(), {{"batch", 64}, {"command", "extract"}});
  });
}

TEST(CompletePieces, HaveWhatWasWritten) {
  const TemporaryFolder folder;
  const json work = {{"command", "try"}, {"pieces", 3}};
  const PieceFolder pieces(folder.path(), work);
  const std::vector<std::filesystem::path> folders{folder.path()};
  expect_error(ErrorKind::data, {"holds no pieces"}, [&] { CompletePieces all(folders, "try"); });
  pieces.write(2, {{"fact", 2}}, bytes("two\n2"));
  expect_error(ErrorKind::data, {"2 of 3", "0-1"}, [&] { CompletePieces all(folders, "try"); });
  pieces.write(0, {{"fact", 0}}, {});
  pieces.write(1, {{"fact", 1}}, bytes("one"));
  const CompletePieces all(folders, "try");
  expect_error(ErrorKind::data, {"piece-000000", "command", "is not evaluate"},
               [&] { CompletePieces other(folders, "evaluate"); });
  EXPECT_EQ(command_of_pieces(folders), "try");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all.work(), work);
  const std::vector<std::string> expected{"", "one", "two\n2"};
  for (std::size_t i = 0; i < 3; ++i) {
    const PieceFile piece = all.open(i);
    EXPECT_EQ(piece.manifest().facts, json({{"fact", i}}));
    const auto content = piece.content();
    EXPECT_TRUE(std::ranges::equal(content, bytes(expected[i])));
  }
}

TEST(FirstDifference, NamesThePathToTheInnermostKey) {
  const json ours = {{"a", 1}, {"list", {{{"seed", 0}}, {{"seed", 1}}}}};
  json theirs = ours;
  theirs["list"][1]["seed"] = 5;
  EXPECT_EQ(first_difference(theirs, ours), "list.seed 5, not 1");
  theirs["list"].erase(1);
  EXPECT_EQ(first_difference(theirs, ours), R"(list [{"seed":0}], not [{"seed":0},{"seed":1}])");
  theirs["list"] = "something that is too long to be shown";
  EXPECT_EQ(first_difference(theirs, ours), "its list differs");
  EXPECT_EQ(first_difference({{"a", 1}, {"list", ours["list"]}, {"b", 2}}, ours), "other options");
}

}  // namespace
}  // namespace deepvoro
