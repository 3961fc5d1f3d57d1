#pragma once

#include <string_view>

namespace deepvoro::serve {

// The API in OpenAPI's own words.
[[nodiscard]] std::string_view openapi_json();

}  // namespace deepvoro::serve
