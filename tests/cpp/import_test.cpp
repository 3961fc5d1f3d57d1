#include "deepvoro/features/import.hpp"

#include <gtest/gtest.h>

#include "deepvoro/core/error.hpp"
#include "deepvoro/features/store_check.hpp"
#include "format_samples.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

class Import : public ::testing::Test {
 protected:
  ImportOptions options() {
    ImportOptions options;
    options.output = folder_.path() / "store";
    options.sources = {{"novel", "v", write("x.plk", samples::from_hex(samples::kPickle4Hex))},
                       {"base", "v", write("x.npz", samples::from_hex(samples::kNpzHex))}};
    return options;
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    test::write_file(folder_ / name, content);
    return folder_ / name;
  }
  test::TemporaryFolder folder_;
};

TEST_F(Import, MakesAStoreThatOpens) {
  import_store(options());
  const FeatureStore store(folder_.path() / "store");
  EXPECT_EQ(store.dim(store.views().front()), 3U);
  EXPECT_EQ(store.views(), std::vector<std::string>{"v"});
  EXPECT_EQ(store.split("base").classes, (std::vector<std::string>{"2", "5"}));
  EXPECT_EQ(store.labels("base"), (std::vector<std::size_t>{1, 0, 1, 0}));
  EXPECT_EQ(store.labels("novel"), (std::vector<std::size_t>{0, 0, 1, 1}));
  EXPECT_EQ(store.features("novel", "v").element(), ElementType::float32);
}

TEST_F(Import, LeavesNothingBehindWhenTheLastFileIsBad) {
  ImportOptions bad = options();
  bad.sources.push_back({"val", "v", write("bad.npz", "PK")});
  const std::size_t before = entries();
  EXPECT_THROW(import_store(bad), Error);
  EXPECT_EQ(entries(), before);
}

TEST_F(Import, RefusesNamesThatCannotBe) {
  for (const char* view : {"", "../v", "labels", "a/b"}) {
    ImportOptions bad = options();
    bad.sources[0].view = bad.sources[1].view = view;
    EXPECT_THROW(import_store(bad), Error) << view;
  }
  ImportOptions bad = options();
  bad.sources[0].split = "test";
  EXPECT_THROW(import_store(bad), Error);
}

TEST_F(Import, SummaryAndCheckDescribeTheStore) {
  ImportOptions half = options();
  half.element = ElementType::float16;
  import_store(half);
  const FeatureStore store(half.output);
  const std::vector<SplitSummary> splits = summarize_splits(store);
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_EQ(splits[0].name, "base");
  EXPECT_EQ(splits[0].smallest.samples, 2U);
  EXPECT_EQ(splits[0].elements, std::vector<ElementType>{ElementType::float16});
  const StoreCheck check = check_store(store, 2);
  EXPECT_EQ(check.files, 5U);
  EXPECT_EQ(check.values, 24U);
  EXPECT_EQ(check.notes.size(), 5U);  // both splits too small for 1 and 5 shots; negative values
}

}  // namespace
}  // namespace deepvoro
