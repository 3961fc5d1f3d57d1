#include "core/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/csv.hpp"

namespace deepvoro {
namespace {

const std::string kRed = "\x1b[31m";
const std::string kSecondKind = "\xC2\x9B";  // U+009B, which begins commands to a terminal too

TEST(Text, ALineHasNoControlCharacters) {
  EXPECT_EQ(as_text_line("a\n" + kRed + "b\x7f" + kSecondKind + "c"), "a  [31mb  c");
  EXPECT_EQ(as_text_line("Elster \xC3\xA9\xC2\xA0"), "Elster \xC3\xA9\xC2\xA0");
  EXPECT_EQ(as_text_line("\xff"), "\xEF\xBF\xBD");
}

TEST(Text, OnlyALineMayNameAPicture) {
  EXPECT_TRUE(is_text_line("Elster \xC3\xA9"));
  for (const std::string& name :
       {std::string(), kRed, kSecondKind, std::string("a\n"), std::string("\xff")})
    EXPECT_FALSE(is_text_line(name)) << name;
}

TEST(Text, EscapesNothingButControlCharacters) {
  EXPECT_EQ(with_control_characters_escaped("a\r\n" + kRed + "\xff" + kSecondKind + "\xC3\xA9\\"),
            "a\\x0d\\x0a\\x1b[31m\xff\\xc2\\x9b\xC3\xA9\\");
}

TEST(Text, CountsInSingularAndPlural) {
  EXPECT_EQ(counted(0, "picture"), "0 pictures");
  EXPECT_EQ(counted(1, "picture"), "1 picture");
  EXPECT_EQ(counted(2, "picture"), "2 pictures");
  EXPECT_EQ(counted(1, "other class", "other classes"), "1 other class");
  EXPECT_EQ(counted(7, "other class", "other classes"), "7 other classes");
}

TEST(Text, ListsTheFirstOfManyNames) {
  std::vector<std::string> names;
  EXPECT_EQ(listed(names), "");
  for (char letter = 'a'; letter <= 'j'; ++letter) names.emplace_back(1, letter);
  EXPECT_EQ(listed(names), "a, b, c, d, e, f, g, h, i, j");
  names.insert(names.end(), 2, "z");
  EXPECT_EQ(listed(names), "a, b, c, d, e, f, g, h, i, j and 2 more");
}

TEST(Csv, QuotesWhatNeedsIt) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,\"b\"c"), "\"a,\"\"b\"\"c\"");
  EXPECT_EQ(csv_field("a\nb\xff" + kRed), "a\\x0ab\xff\\x1b[31m");
}

}  // namespace
}  // namespace deepvoro
