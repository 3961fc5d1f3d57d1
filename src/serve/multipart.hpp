#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http.hpp"

namespace deepvoro::serve {

// A file that came with a request. Refers to the request's body.
struct SentFile {
  std::string name;  // for messages and answers alone
  std::span<const std::byte> bytes;
};

// The body itself, or the files of multipart/form-data, in their order. A usage error where it is
// broken, has no files or too many.
[[nodiscard]] std::vector<SentFile> sent_files(const Request& request);

}  // namespace deepvoro::serve
