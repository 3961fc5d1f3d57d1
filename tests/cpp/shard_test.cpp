#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "backbone/extraction_pieces.hpp"
#include "core/json_difference.hpp"
#include "expect_error.hpp"
#include "shard/complete_pieces.hpp"
#include "shard/difference_of_works.hpp"
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

TEST(PieceFolder, LooksForAPieceThatTellsItsWork) {
  const TemporaryFolder folder;
  const PieceFolder pieces(folder.path(), {{"pieces", 6}, {"seed", 0}});
  for (const std::size_t there : {0U, 2U, 5U})
    pieces.write(there, json::object(), bytes("content"));
  for (const std::size_t damaged : {0U, 2U})
    std::filesystem::resize_file(piece_path(folder.path(), damaged), 10);
  expect_error(ErrorKind::data, {"piece-000005", "seed 0, not 1"}, [&] {
    const PieceFolder others(folder.path(), {{"pieces", 6}, {"seed", 1}});
  });
  EXPECT_EQ(PieceFolder(folder.path(), {{"pieces", 6}, {"seed", 0}}).missing({0, 6}),
            (std::vector<PieceRange>{{0, 5}}));
}

TEST(PieceFolder, IsAFolder) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "file";
  std::ofstream(file) << "text";
  const auto make = [&](const std::filesystem::path& name) {
    return [name] { const PieceFolder pieces(name, {{"pieces", 1}}); };
  };
  expect_error(ErrorKind::usage, {"file: is a file", "`out` must be a folder"}, make(file));
  expect_error(ErrorKind::usage, {"`out` ''"}, make(""));
  expect_error(ErrorKind::data, {"file/new: cannot be created", "does the folder exist?"},
               make(file / "new"));
  const std::vector<std::filesystem::path> folders{file};
  expect_error(ErrorKind::data, {"file: is a file", "name the folder"},
               [&] { (void)command_of_pieces(folders); });
}

TEST(PieceFolder, HoldsFilesThatAreNamedLikePieces) {
  EXPECT_EQ(number_in_name("a/piece-000017"), 17U);
  EXPECT_EQ(number_in_name("piece-1000000"), 1'000'000U);
  for (const char* other : {"piece-", "piece-17", "piece-x", "piece-000017b", "piece-000017 (copy)",
                            "piece--00017", "000017", "piece-000017.part"})
    EXPECT_EQ(number_in_name(other), std::nullopt) << other;
}

TEST(CompletePieces, TakeAPieceOnce) {
  const TemporaryFolder folder;
  const json work = {{"command", "try"}, {"pieces", 2}};
  const std::filesystem::path a = folder.path() / "a";
  const std::filesystem::path b = folder.path() / "b";
  for (const std::filesystem::path& half : {a, b})
    PieceFolder(half, work).write(0, {{"seconds", 1}}, bytes("zero"));
  PieceFolder(b, work).write(1, json::object(), bytes("one"));
  const auto all_of = [](std::vector<std::filesystem::path> folders) {
    return CompletePieces(folders, "try").size();
  };
  EXPECT_EQ(all_of({a, b}), 2U);  // copies of the same bytes
  expect_error(ErrorKind::usage, {"/b is named twice; name it once"}, [&] {
    all_of({b, a, b / ""});
  });
  std::filesystem::create_directory_symlink(b, folder.path() / "c");
  expect_error(ErrorKind::usage, {"/b and ", "/c are the same folder"}, [&] {
    all_of({b, folder.path() / "c"});
  });
  PieceFolder(a, work).write(0, {{"seconds", 2}}, bytes("zero"));
  expect_error(ErrorKind::data,
               {"/a/piece-000000 and ", "/b/piece-000000 are both piece 0, and differ"}, [&] {
                 all_of({a, b});
               });
  std::ofstream(b / "piece-x") << "no piece";
  EXPECT_EQ(all_of({b}), 2U);
  std::ofstream(b / "piece-000200") << "no piece";
  expect_error(ErrorKind::data, {"piece-000200", "behind the last of 2 pieces; remove it"},
               [&] { all_of({b}); });
}

TEST(CompletePieces, AreNotMixedWithWhatIsMadeOfThem) {
  const TemporaryFolder folder;
  const std::filesystem::path pieces = folder.path() / "pieces";
  const std::filesystem::path others = folder.path() / "others";
  for (const std::filesystem::path& one : {pieces, others})
    PieceFolder(one, {{"pieces", 1}}).write(0, json::object(), {});
  const std::vector<std::filesystem::path> folders{pieces};
  for (const auto& output :
       {pieces, pieces / "", pieces / "a.json", pieces / "a/b", others, others / "a.json"})
    expect_error(ErrorKind::usage, {"`out`", "a folder of pieces", "elsewhere"},
                 [&] { refuse_output_among_pieces("`out`", output, folders); });
  for (const char* output : {"piecesx", "a.json", "a/b"})
    EXPECT_NO_THROW(refuse_output_among_pieces("`out`", folder.path() / output, folders));
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

TEST(DifferenceOfWorks, SaysInWordsWhatIsOther) {
  const auto evaluation = [](const char* method, int shots, const char* members) {
    return json{{"method", method}, {"shots", shots}, {"alpha", 1}, {"pool_sha256", members}};
  };
  const json ours = {{"command", "evaluate"},
                     {"program", {{"commit", "a"}}},
                     {"store", "s"},
                     {"evaluations", {evaluation("vd", 1, "p"), evaluation("dc", 1, "p")}},
                     {"pieces", 240}};
  const auto difference = [&](const char* pointer, const json& value) {
    json theirs = ours;
    theirs[json::json_pointer(pointer)] = value;
    theirs["pieces"] = 17;
    return difference_of_works(theirs, ours);
  };
  EXPECT_EQ(difference("/command", "tune"), R"(command "tune", not "evaluate")");
  EXPECT_EQ(difference("/program/commit", "b"), "another version of the program");
  EXPECT_EQ(difference("/store", "t"), "another store");
  EXPECT_EQ(difference("/evaluations/1/method", "vd"), "method vd, not vd,dc");
  EXPECT_EQ(difference("/evaluations/1/shots", 5), "shots 1,5, not 1");
  EXPECT_EQ(difference("/evaluations/1/alpha", 2), "alpha 2, not 1");
  EXPECT_EQ(difference("/evaluations/0/pool_sha256", "q"), "other members");
  EXPECT_EQ(difference("/evaluations", 1), "its evaluations differ");
}

TEST(DifferenceOfWorks, OfPicturesStudiesAndTunings) {
  const json ours = {{"command", "extract"},
                     {"model", "m"},
                     {"preprocessing", {{"fast_decode_side", 92}}},
                     {"splits", {{"novel", {{"pictures", 9}, {"names_and_sizes", "n"}}}}}};
  const auto difference = [&](const char* pointer, const json& value) {
    json theirs = ours;
    theirs[json::json_pointer(pointer)] = value;
    return difference_of_works(theirs, ours);
  };
  EXPECT_EQ(difference("/model", "o"), "another model");
  EXPECT_EQ(difference("/preprocessing", json::object()), "without `fast_decode`");
  EXPECT_EQ(difference("/splits/novel/names_and_sizes", "o"),
            "the pictures of novel have changed since");
  EXPECT_EQ(difference("/splits/novel/pictures", 8), "of 8 pictures in novel, not 9");
  EXPECT_EQ(difference("/splits/base", json::object()), "splits base,novel, not novel");
  EXPECT_EQ(difference("/batch", 64), "other options");
  EXPECT_EQ(difference_of_works({{"study", "shots"}, {"settings", 1}},
                                {{"study", "ablation"}, {"settings", 2}}),
            R"(study "shots", not "ablation")");
  EXPECT_EQ(difference_of_works({{"tuning", {{"method", "vd"}, {"grid", 1}}}},
                                {{"tuning", {{"method", "plda"}, {"grid", 2}}}}),
            "method vd, not plda");
  EXPECT_EQ(difference_of_works({{"tuning", {{"store", 1}, {"views", 1}}}},
                                {{"tuning", {{"store", 2}, {"views", 2}}}}),
            "another store");
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
