#include "deepvoro/features/store.hpp"

#include <gtest/gtest.h>
#include <stdio.h>

#include <array>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using test::bytes_of;
using test::expect_error;
using test::npy_bytes;
using test::npy_dictionary;
using test::SplitData;
using test::TemporaryFolder;
using test::write_file;
using test::write_labels;
using test::write_store;

// A store of two samples a class that each test may damage.
class SmallStore : public ::testing::Test {
 protected:
  SmallStore() {
    const SplitData novel{
        {1, 0, 0, 1},
        {"ant", "bee"},
        {{"a", {{1, 2}, {3, 4}, {5, 6}, {7, 8}}}, {"b", {{-1, 0}, {0, -1}, {2, 2}, {9, 9}}}}};
    const SplitData val{{0}, {"cow"}, {{"a", {{1, 1}}}, {"b", {{2, 2}}}}};
    write_store(folder_.path(), {{"novel", novel}, {"val", val}});
  }

  [[nodiscard]] std::filesystem::path description() const { return folder_ / "store.json"; }
  [[nodiscard]] std::filesystem::path labels() const { return folder_ / "novel" / "labels.npy"; }
  [[nodiscard]] std::filesystem::path view_a() const { return folder_ / "novel" / "a.npy"; }
  [[nodiscard]] FeatureStore open() const { return FeatureStore(folder_.path()); }

  template <class Change>
  void change_description(const Change& change) const {
    json document = json::parse(test::read_file(description()));
    change(document);
    write_file(description(), document.dump());
  }
  void replace_view_a(const std::string& descr, const std::vector<std::size_t>& shape,
                      std::string_view data, bool fortran_order = false) const {
    write_file(view_a(), npy_bytes(npy_dictionary(descr, shape, fortran_order), data));
  }
  void expect_open_fails(std::initializer_list<std::string_view> fragments) const {
    expect_error(ErrorKind::data, {description().string()}, [&] { (void)open(); });
    expect_error(ErrorKind::data, fragments, [&] { (void)open(); });
  }
  void expect_labels_fail(std::initializer_list<std::string_view> fragments) const {
    const FeatureStore store = open();
    expect_error(ErrorKind::data, {labels().string()}, [&] { (void)store.labels("novel"); });
    expect_error(ErrorKind::data, fragments, [&] { (void)store.labels("novel"); });
  }
  void expect_features_fail(std::initializer_list<std::string_view> fragments) const {
    const FeatureStore store = open();
    expect_error(ErrorKind::data, {view_a().string()}, [&] { (void)store.features("novel", "a"); });
    expect_error(ErrorKind::data, fragments, [&] { (void)store.features("novel", "a"); });
  }

  TemporaryFolder folder_;
};

TEST_F(SmallStore, SaysWhatItHolds) {
  const FeatureStore store = open();
  EXPECT_EQ(store.folder(), folder_.path());
  EXPECT_EQ(store.dim(store.views().front()), 2U);
  EXPECT_EQ(store.views(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(store.has_view("b"));
  EXPECT_FALSE(store.has_view("c"));
  EXPECT_TRUE(store.has_split("val"));
  EXPECT_FALSE(store.has_split("base"));
  EXPECT_EQ(store.split("novel").samples, 4U);
  EXPECT_EQ(store.split("novel").classes, (std::vector<std::string>{"ant", "bee"}));
  EXPECT_EQ(json::parse(store.provenance_json()), json({{"made", "by a test"}}));
}

TEST_F(SmallStore, GivesLabelsAndRows) {
  const FeatureStore store = open();
  EXPECT_EQ(store.labels("novel"), (std::vector<std::size_t>{1, 0, 0, 1}));
  const FeatureRows rows = store.features("novel", "b");
  EXPECT_EQ(rows.element(), ElementType::float32);
  EXPECT_EQ(rows.rows(), 4U);
  EXPECT_EQ(rows.dim(), 2U);
  std::array<float, 2> last{};
  std::memcpy(last.data(), rows.row(3), sizeof last);
  EXPECT_EQ(last, (std::array<float, 2>{9, 9}));
  std::array<float, 2> copied{};
  rows.copy_row(3, copied);
  EXPECT_EQ(copied, last);
}

TEST_F(SmallStore, SaysWhatIsMeantWhereNothingIsNamed) {
  EXPECT_EQ(open().usual_split(), "novel");
  EXPECT_EQ(open().model_sha256(), "");
  json content = json::parse(test::read_file(description()));
  content["splits"].erase("novel");
  content["provenance"] = {{"model", "00ff"}};
  write_file(description(), content.dump());
  EXPECT_EQ(open().usual_split(), "val");
  EXPECT_EQ(open().model_sha256(), "00ff");
  for (const json& strange : {json("by hand"), json::array(), json{{"model", 3}}}) {
    content["provenance"] = strange;
    write_file(description(), content.dump());
    EXPECT_EQ(open().model_sha256(), "");
  }
}

TEST_F(SmallStore, GivesTheRowsOfEachClass) {
  EXPECT_EQ(open().rows_by_class("novel"), (std::vector<std::vector<std::size_t>>{{1, 2}, {0, 3}}));
}

TEST_F(SmallStore, MapsFloat16) {
  const std::vector<std::uint16_t> halves(8, 0x3c00);
  replace_view_a("<f2", {4, 2}, bytes_of(halves));
  const FeatureRows rows = open().features("novel", "a");
  EXPECT_EQ(rows.element(), ElementType::float16);
  EXPECT_EQ(rows.row(1) - rows.row(0), 4);
  std::array<float, 2> copied{};
  rows.copy_row(1, copied);
  EXPECT_EQ(copied, (std::array<float, 2>{1, 1}));
}

TEST_F(SmallStore, OpensWithoutItsViewsAndLabels) {
  std::filesystem::remove_all(folder_ / "novel");
  EXPECT_NO_THROW((void)open());
}

TEST_F(SmallStore, DescriptionMustBeThere) {
  std::filesystem::remove(description());
  expect_open_fails({"does not exist", "deepvoro store create"});
}

TEST_F(SmallStore, DescriptionMustBeJson) {
  write_file(description(), "{\"format\": ");
  expect_open_fails({"not valid JSON at byte"});
  write_file(description(), "");
  expect_open_fails({"not valid JSON"});
  write_file(description(), "[]");
  expect_open_fails({"\"format\""});
}

TEST_F(SmallStore, EveryBrokenKeyIsRefusedByName) {
  const std::vector<std::pair<const char*, json>> broken = {
      {"format", "another-store"},
      {"format", 1},
      {"version", 2},
      {"version", "1"},
      {"dim", 0},
      {"dim", -2},
      {"dim", 2.5},
      {"dim", "2"},
      {"dim", 1ULL << 40U},
      {"views", json::array()},
      {"views", "a"},
      {"views", {1, 2}},
      {"splits", json::object()},
      {"splits", {"novel"}},
      {"dim", nullptr},
      {"views", nullptr},
  };
  const std::string intact = test::read_file(description());
  for (const auto& [key, value] : broken) {
    SCOPED_TRACE(std::string(key) + " = " + value.dump());
    write_file(description(), intact);
    change_description([&key = key, &value = value](json& document) { document[key] = value; });
    expect_open_fails({std::string("\"") + key + "\""});
  }
  for (const char* key : {"format", "version", "dim", "views", "splits"}) {
    SCOPED_TRACE(std::string("without ") + key);
    write_file(description(), intact);
    change_description([&](json& document) { document.erase(key); });
    expect_open_fails({std::string("\"") + key + "\""});
  }
}

TEST_F(SmallStore, EveryBrokenKeyOfASplitIsRefusedByName) {
  const std::string intact = test::read_file(description());
  const std::vector<std::pair<const char*, json>> broken = {
      {"samples", -1}, {"samples", 1.5}, {"samples", "4"}, {"classes", "ant"}, {"classes", {1, 2}}};
  for (const auto& [key, value] : broken) {
    SCOPED_TRACE(std::string(key) + " = " + value.dump());
    write_file(description(), intact);
    change_description(
        [&key = key, &value = value](json& document) { document["splits"]["novel"][key] = value; });
    expect_open_fails({"split novel", std::string("\"") + key + "\""});
  }
}

TEST_F(SmallStore, NamesMustBeUniqueAndFitForFiles) {
  const std::string intact = test::read_file(description());
  change_description([](json& document) { document["views"] = {"a", "b", "a"}; });
  expect_open_fails({"view \"a\"", "twice"});
  write_file(description(), intact);
  change_description([](json& document) { document["splits"]["novel"]["classes"] = {"x", "x"}; });
  expect_open_fails({"class \"x\"", "twice"});
  write_file(description(), intact);
  change_description([](json& document) { document["views"] = {"../a"}; });
  expect_open_fails({"../a"});
  write_file(description(), intact);
  change_description([](json& document) { document["splits"]["test"] = json::object(); });
  expect_open_fails({"\"test\" is not a split"});
}

TEST(StoreNames, AreLettersDigitsAndAFewSigns) {
  for (const char* name : {"s84_r0_f0", "A-1.5", "x"}) EXPECT_TRUE(is_view_name(name)) << name;
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "a b", "labels", "\xc3\xa9"})
    EXPECT_FALSE(is_view_name(name)) << name;
  EXPECT_FALSE(is_view_name(std::string(1000, 'a')));
  for (const char* name : {"base", "val", "novel"}) EXPECT_TRUE(is_split_name(name));
  for (const char* name : {"", "Novel", "test"}) EXPECT_FALSE(is_split_name(name));
}

TEST_F(SmallStore, AnAbsentSplitOrViewIsNamedWithWhatThereIs) {
  const FeatureStore store = open();
  for (const auto& ask : std::vector<std::function<void()>>{
           [&] { (void)store.split("base"); }, [&] { (void)store.labels("base"); },
           [&] { (void)store.features("base", "a"); }})
    expect_error(ErrorKind::data, {folder_.path().string(), "'base'", "novel, val"}, ask);
  expect_error(ErrorKind::data, {folder_.path().string(), "'c'", "a to b"},
               [&] { (void)store.features("novel", "c"); });
}

TEST_F(SmallStore, LabelsMustBeThere) {
  std::filesystem::remove(labels());
  expect_labels_fail({"No such file"});
}

TEST_F(SmallStore, LabelsMustBeInt64) {
  const std::vector<std::int32_t> narrow(4);
  write_file(labels(),
             npy_bytes(npy_dictionary("<i4", std::vector<std::size_t>{4}), bytes_of(narrow)));
  expect_labels_fail({"'<i4'", "int64"});
}

TEST_F(SmallStore, LabelsMustBeAsManyAsSamples) {
  write_labels(labels(), {0, 1, 0});
  expect_labels_fail({"shape (3)", "4 samples"});
  const std::vector<std::int64_t> square(4);
  write_file(labels(),
             npy_bytes(npy_dictionary("<i8", std::vector<std::size_t>{2, 2}), bytes_of(square)));
  expect_labels_fail({"shape (2, 2)"});
}

TEST_F(SmallStore, LabelsMustBeClasses) {
  write_labels(labels(), {0, 1, 2, 0});
  expect_labels_fail({"row 2", "label 2", "2 classes"});
  write_labels(labels(), {0, 1, 1, -1});
  expect_labels_fail({"row 3", "label -1"});
}

TEST_F(SmallStore, AViewMustBeThere) {
  std::filesystem::remove(view_a());
  expect_features_fail({"No such file"});
}

TEST_F(SmallStore, AViewMustHaveAFloatTypeItReads) {
  const std::vector<double> doubles(8);
  replace_view_a("<f8", {4, 2}, bytes_of(doubles));
  expect_features_fail({"'<f8'", "float16", "float32"});
  replace_view_a(">f4", {4, 2}, bytes_of(doubles));
  expect_features_fail({"'>f4'"});
}

TEST_F(SmallStore, AViewMustBeInCOrder) {
  const std::vector<float> values(8);
  replace_view_a("<f4", {4, 2}, bytes_of(values), true);
  expect_features_fail({"Fortran order"});
}

TEST_F(SmallStore, AViewMustHaveTheShapeOfTheDescription) {
  const std::vector<float> values(12);
  for (const auto& shape : std::vector<std::vector<std::size_t>>{{4, 3}, {3, 2}, {8}, {4, 2, 1}}) {
    replace_view_a("<f4", shape, bytes_of(values));
    expect_features_fail({"has shape", "4 samples of 2"});
  }
}

TEST_F(SmallStore, AViewMustBeAligned) {
  const std::string dictionary = npy_dictionary("<f4", std::vector<std::size_t>{4, 2});
  std::string file("\x93NUMPY\x01\0", 8);
  file += static_cast<char>(dictionary.size() + dictionary.size() % 2 + 1);
  file += '\0';
  file += dictionary + std::string(dictionary.size() % 2 + 1, ' ') + std::string(32, '\0');
  write_file(view_a(), file);
  expect_features_fail({"odd byte"});
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  std::array<char, 256> chunk{};
  while (fgets(chunk.data(), chunk.size(), pipe.get()) != nullptr) output += chunk.data();
  return output;
}

TEST_F(SmallStore, HasTheSha256OfTheListOfItsFiles) {
  const std::string listing = "cd '" + folder_.path().string() +
                              "' && sha256sum store.json */*.npy | LC_ALL=C sort -k2 | sha256sum";
  const std::string expected = output_of(listing).substr(0, 64);
  ASSERT_EQ(expected.find_first_not_of("0123456789abcdef"), std::string::npos);
  ASSERT_EQ(expected.size(), 64U);
  EXPECT_EQ(open().sha256(1), expected);
  EXPECT_EQ(open().sha256(5), expected);
}

TEST_F(SmallStore, HasAnotherSha256WhenAnyFileChanges) {
  const std::string before = open().sha256(1);
  write_labels(labels(), {1, 0, 0, 0});
  EXPECT_NE(open().sha256(1), before);
}

TEST_F(SmallStore, HasTheSameSha256WhenAForeignFileIsAdded) {
  const std::string before = open().sha256(1);
  write_file(folder_ / "novel" / "notes.npy", "not of this store");
  EXPECT_EQ(open().sha256(1), before);
}

TEST_F(SmallStore, Sha256NamesAFileThatIsMissing) {
  std::filesystem::remove(view_a());
  expect_error(ErrorKind::data, {view_a().string()}, [&] { (void)open().sha256(2); });
}

}  // namespace
}  // namespace deepvoro
