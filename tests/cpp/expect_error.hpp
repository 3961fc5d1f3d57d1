#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "deepvoro/core/error.hpp"

namespace deepvoro::test {

// The error's text has to hold every fragment: the file, the row, the key it is about.
template <class Action>
void expect_error(ErrorKind kind, std::initializer_list<std::string_view> fragments,
                  const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.kind(), kind) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << "more than one line: " << text;
    for (const std::string_view fragment : fragments)
      EXPECT_NE(text.find(fragment), std::string::npos) << "no '" << fragment << "' in: " << text;
    return;
  } catch (const std::exception& other) {
    FAIL() << "not a deepvoro::Error: " << other.what();
  }
  FAIL() << "nothing was thrown";
}

// By which a caller can tell this error from others.
template <class Action>
void expect_code(ErrorCode code, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return;
  }
  FAIL() << "nothing was thrown";
}

}  // namespace deepvoro::test
