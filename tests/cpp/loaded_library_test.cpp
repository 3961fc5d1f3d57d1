#include "core/loaded_library.hpp"

#include <gtest/gtest.h>

#include "expect_error.hpp"

namespace deepvoro {
namespace {

using test::expect_error;

TEST(LoadedLibrary, HasFunctionsAndVariables) {
  const LoadedLibrary library("libm.so.6", "sums", ErrorCode::none);
  EXPECT_EQ(library.function<double(double)>("floor")(2.5), 2);
  library.variable<int>("signgam") = 0;
  (void)library.function<double(double)>("lgamma")(-0.5);
  EXPECT_EQ(library.variable<int>("signgam"), -1);
}

TEST(LoadedLibrary, NamesWhatIsMissing) {
  expect_error(ErrorKind::data, {"pictures of moths need libmoth.so.1"}, [] {
    const LoadedLibrary none("libmoth.so.1", "pictures of moths", ErrorCode::bad_picture);
  });
  const LoadedLibrary library("libm.so.6", "sums", ErrorCode::none);
  expect_error(ErrorKind::data, {"libm.so.6", "no flutter"},
               [&] { (void)library.function<void()>("flutter"); });
}

// One HEIC file must not keep a project from being opened, whatever its library lacks.
TEST(LoadedLibrary, GivesItsCodeToAllErrors) {
  const auto code_of = [](const auto& use) {
    try {
      use();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::none;
  };
  EXPECT_EQ(code_of([] { const LoadedLibrary none("libmoth.so.1", "", ErrorCode::bad_picture); }),
            ErrorCode::bad_picture);
  const LoadedLibrary library("libm.so.6", "sums", ErrorCode::bad_picture);
  EXPECT_EQ(code_of([&] { (void)library.function<void()>("flutter"); }), ErrorCode::bad_picture);
}

}  // namespace
}  // namespace deepvoro
