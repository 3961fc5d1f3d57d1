#include "report/packed.hpp"

#include <zlib.h>

#include <vector>

#include "core/base64.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {

std::string packed(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::vector<std::byte> bytes(size);
  const int status =
      compress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_BEST_COMPRESSION);
  if (status != Z_OK) throw internal_error("zlib does not compress the numbers of a figure");
  bytes.resize(size);
  return base64(bytes);
}

}  // namespace deepvoro
