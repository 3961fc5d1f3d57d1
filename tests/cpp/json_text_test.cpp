#include "core/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::TemporaryFolder;
using test::write_file;

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += "1";
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(Json, MayBeNestedAsDeeplyAsAnyFileOfOurs) {
  EXPECT_FALSE(parse_json(nested(64, "[", "]")).is_discarded());
  EXPECT_FALSE(parse_json(nested(64, R"({"a":)", "}")).is_discarded());
}

TEST(Json, NestedDeeperIsBroken) {
  for (const std::size_t depth : {65UL, 1'000'000UL}) {
    EXPECT_TRUE(parse_json(nested(depth, "[", "]")).is_discarded());
    EXPECT_TRUE(parse_json(nested(depth, R"({"a":)", "}")).is_discarded());
    EXPECT_TRUE(parse_json(std::string(depth, '[')).is_discarded());
  }
}

TEST(Json, WithAKeyTwiceIsBroken) {
  EXPECT_TRUE(parse_json(R"({"a": 1, "b": 2, "a": 3})").is_discarded());
  EXPECT_TRUE(parse_json(R"([{"c": {"a": 1, "a": 1}}])").is_discarded());
  EXPECT_FALSE(parse_json(R"([{"a": {"a": 1}}, {"a": 2}])").is_discarded());
}

TEST(Json, InAFileSaysWhatIsWrong) {
  const TemporaryFolder folder;
  const auto file = folder / "file.json";
  write_file(file, R"({"twice": 1, "twice": 2})");
  expect_error(ErrorKind::data, {file.string(), "'twice'"}, [&] { (void)read_json(file); });
  write_file(file, nested(100'000, "[", "]"));
  expect_error(ErrorKind::data, {file.string(), "64 levels"}, [&] { (void)read_json(file); });
  write_file(file, R"({"a": )");
  expect_error(ErrorKind::data, {file.string(), "byte 7"}, [&] { (void)read_json(file); });
}

}  // namespace
}  // namespace deepvoro
