#include "deepvoro/features/store_check.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::Rows;
using test::TemporaryFolder;
using Notes = std::vector<std::string>;

// What is noted of a split whose classes have so many samples.
Notes notes_of_sizes(const std::vector<std::size_t>& sizes) {
  test::SplitData split;
  Rows rows;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    split.classes.push_back("class-" + std::to_string(c));
    split.labels.insert(split.labels.end(), sizes[c], static_cast<std::int64_t>(c));
    rows.insert(rows.end(), sizes[c], {1, 2});
  }
  split.views["view"] = rows;
  const TemporaryFolder folder;
  test::write_store(folder.path(), {{"novel", split}});
  return check_store(FeatureStore(folder.path()), 1).notes;
}

TEST(StoreCheck, NotesClassesThatAreTooSmallForTheUsualTasks) {
  EXPECT_EQ(notes_of_sizes({20, 21}), Notes{});
  EXPECT_EQ(notes_of_sizes({20, 19, 16}),
            Notes{"novel: 2 of 3 classes have fewer than 20 samples ('class-2' has 16), too few "
                  "for 5 shots and 15 queries"});
  EXPECT_EQ(notes_of_sizes({30, 15}),
            (Notes{"novel: 1 of 2 classes have fewer than 16 samples ('class-1' has 15), too few "
                   "for 1 shot and 15 queries",
                   "novel: 1 of 2 classes have fewer than 20 samples ('class-1' has 15), too few "
                   "for 5 shots and 15 queries"}));
}

}  // namespace
}  // namespace deepvoro
