#include "features/npy.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::npy_bytes;
using test::npy_dictionary;
using Shape = std::vector<std::uint64_t>;

NpyHeader parse(const std::string& file) {
  return parse_npy_header(std::as_bytes(std::span(file)), "features.npy");
}

std::string npy_file(const std::string& descr, const std::vector<std::size_t>& shape,
                     std::size_t data_bytes, int version = 1) {
  return npy_bytes(npy_dictionary(descr, shape), std::string(data_bytes, '\0'), version);
}

void expect_not_read(const std::string& file,
                     std::initializer_list<std::string_view> fragments = {}) {
  expect_error(ErrorKind::data, {"features.npy"}, [&] { (void)parse(file); });
  expect_error(ErrorKind::data, fragments, [&] { (void)parse(file); });
}

TEST(NpyHeader, RoundTripsEveryKindOfShape) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{3, 4}, Shape{2, 3, 4}}) {
    std::string file = npy_header("<f4", shape);
    const std::size_t head_bytes = file.size();
    file.append(4 * 24, '\0');
    const NpyHeader header = parse(file);
    EXPECT_EQ(header.shape, shape);
    EXPECT_EQ(header.descr, "<f4");
    EXPECT_FALSE(header.fortran_order);
    EXPECT_EQ(header.data_offset, head_bytes);
    EXPECT_EQ(header.data_offset % 64, 0U);
  }
}

TEST(NpyHeader, IsWrittenAsNumpyWritesIt) {
  EXPECT_EQ(npy_header("<i8", Shape{600}), npy_file("<i8", {600}, 0));
  EXPECT_EQ(npy_header("<f8", Shape{2, 75, 5}), npy_file("<f8", {2, 75, 5}, 0));
}

TEST(NpyHeader, IsReadInVersionsOneToThree) {
  for (const int version : {1, 2, 3}) {
    const NpyHeader header = parse(npy_file("<f2", {3, 5}, 30, version));
    EXPECT_EQ(header.shape, (Shape{3, 5})) << "version " << version;
    EXPECT_EQ(header.data_offset % 64, 0U) << "version " << version;
  }
  expect_not_read(npy_file("<f2", {3, 5}, 30, 4), {"version 4"});
  expect_not_read(npy_file("<f2", {3, 5}, 30, 0), {"version 0"});
}

TEST(NpyHeader, ReadsFortranOrder) {
  EXPECT_TRUE(parse(npy_bytes(npy_dictionary("<f4", std::vector<std::size_t>{2, 2}, true),
                              std::string(16, '\0')))
                  .fortran_order);
}

TEST(NpyHeader, OfAFileCutShortAnywhereIsRefused) {
  for (const int version : {1, 2, 3}) {
    const std::string file = npy_file("<f4", {3, 4}, 48, version);
    ASSERT_NO_THROW((void)parse(file));
    for (std::size_t length = 0; length < file.size(); ++length)
      expect_error(ErrorKind::data, {"features.npy"}, [&] { (void)parse(file.substr(0, length)); });
  }
}

TEST(NpyHeader, SaysWhatAnEmptyOrForeignFileIs) {
  expect_not_read("", {"is empty"});
  expect_not_read("PK\x03\x04 a zip archive, perhaps", {"not a .npy file"});
}

TEST(NpyHeader, PromisingMoreThanIsThereIsRefusedHoweverMuch) {
  expect_not_read(npy_file("<f4", {10'000'000'000'000, 640}, 64), {"10000000000000, 640"});
  expect_not_read(npy_file("<f4", {std::numeric_limits<std::size_t>::max()}, 64));
  // Products that are 0 modulo 2^64, in elements or in bytes.
  expect_not_read(npy_file("<f4", {std::size_t{1} << 32U, std::size_t{1} << 32U}, 64));
  expect_not_read(npy_file("<f4", {std::size_t{1} << 62U}, 64));
  expect_not_read(
      npy_bytes("{'descr': '<f4', 'fortran_order': False, "
                "'shape': (99999999999999999999999,), }",
                ""));
}

TEST(NpyHeader, CountsElementsWithoutOverflow) {
  EXPECT_EQ((NpyHeader{.shape = {}}.elements()), 1U);
  EXPECT_EQ((NpyHeader{.shape = {3, 4, 5}}.elements()), 60U);
  EXPECT_EQ((NpyHeader{.shape = {7, 0}}.elements()), 0U);
  EXPECT_EQ((NpyHeader{.shape = {std::uint64_t{1} << 40U, std::uint64_t{1} << 40U}}.elements()),
            std::numeric_limits<std::uint64_t>::max());
}

TEST(NpyHeader, ReadsTexts) {
  EXPECT_EQ(npy_item_size(parse(npy_file("<U5", {2}, 40)).descr), 20U);
  EXPECT_EQ(npy_item_size(parse(npy_file("|S3", {2}, 6)).descr), 3U);
}

TEST(NpyHeader, OfElementsThatAreNeitherNumbersNorTextsIsRefused) {
  expect_not_read(npy_file("|O", {1}, 64), {"holds Python objects"});
  for (const char* descr :
       {"<U", "|S0", "xU5", "<U2x", "<c8", "<M8", "<f3", "<f9", "<f1", "f4", "", "<f"})
    expect_not_read(npy_file(descr, {1}, 64), {"'" + std::string(descr) + "'"});
  expect_not_read(npy_bytes("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }",
                            std::string(4, '\0')),
                  {"cannot parse the .npy header"});
}

TEST(NpyHeader, ThatIsNoDictionaryOfTheThreeKeysIsRefused) {
  for (const char* dictionary : {
           "",
           "{",
           "{}",
           "{'descr': '<f4', 'fortran_order': False, }",
           "{'descr': '<f4', 'shape': (1,), }",
           "{'fortran_order': False, 'shape': (1,), }",
           "{'descr': '<f4', 'fortran_order': Perhaps, 'shape': (1,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': 1, }",
           "{'descr': '<f4, 'fortran_order': False, 'shape': (1,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1, }",
       })
    expect_not_read(npy_bytes(dictionary, std::string(64, '\0')));
}

TEST(NpyItemSize, KnowsThePlainNumbers) {
  EXPECT_EQ(npy_item_size("<f2"), 2U);
  EXPECT_EQ(npy_item_size("<f4"), 4U);
  EXPECT_EQ(npy_item_size(">f8"), 8U);
  EXPECT_EQ(npy_item_size("<i8"), 8U);
  EXPECT_EQ(npy_item_size("|u1"), 1U);
  EXPECT_EQ(npy_item_size("|b1"), 1U);
  EXPECT_EQ(npy_item_size("|b2"), 0U);
  EXPECT_EQ(npy_item_size("<c8"), 0U);
}

}  // namespace
}  // namespace deepvoro
