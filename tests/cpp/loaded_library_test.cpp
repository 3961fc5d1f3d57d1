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

}  // namespace
}  // namespace deepvoro
