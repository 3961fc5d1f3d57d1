#include "features/store_files.hpp"

#include <gtest/gtest.h>

#include "test_store.hpp"

namespace deepvoro {
namespace {

TEST(StoreFiles, DescriptionWithoutProvenanceHasAnEmptyOne) {
  const test::TemporaryFolder folder;
  write_store_description(folder.path(),
                          {.dim = 2, .views = {"v"}, .splits = {{"val", {3, {"cat"}}}}});
  EXPECT_EQ(test::read_file(folder / "store.json"), R"({
 "dim": 2,
 "format": "deepvoro-store",
 "provenance": {},
 "splits": {
  "val": {
   "classes": [
    "cat"
   ],
   "samples": 3
  }
 },
 "version": 1,
 "views": [
  "v"
 ]
}
)");
}

TEST(StoreFiles, WhatIsWrittenIsReadBack) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "novel");
  write_store_labels(folder.path(), "novel", std::vector<std::int64_t>{1, 0, 1});
  write_store_description(folder.path(), {.dim = 4,
                                          .views = {"a", "b"},
                                          .splits = {{"novel", {3, {"cat", "dog"}}}},
                                          .provenance = {{"made", "by a test"}}});
  const FeatureStore store(folder.path());
  EXPECT_EQ(store.dim(store.views().front()), 4U);
  EXPECT_EQ(store.views(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(store.split("novel").classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(store.labels("novel"), (std::vector<std::size_t>{1, 0, 1}));
  EXPECT_EQ(store.provenance_json(), R"({"made":"by a test"})");
}

}  // namespace
}  // namespace deepvoro
