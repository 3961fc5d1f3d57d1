#pragma once

#include <span>
#include <string_view>

namespace deepvoro::serve {

struct PageAsset {
  std::string_view path;  ///< "/index.html", "/assets/main-HASH.js"
  std::string_view type;
  std::string_view bytes;
};

/// Files of the page; none when it was not built.
std::span<const PageAsset> page_assets();

}  // namespace deepvoro::serve
