#include "gunzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip's head around it
constexpr std::size_t kFirstPiece = std::size_t{1} << 20U;

class Inflation {
 public:
  Inflation() {
    if (::inflateInit2(&stream, kGzipWindow) != Z_OK)
      throw internal_error("zlib cannot start to unpack");
  }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
  ~Inflation() { ::inflateEnd(&stream); }

  z_stream stream{};
};

}  // namespace

std::string gunzip(std::span<const std::byte> bytes, std::size_t limit, const std::string& where) {
  const auto fail = [&](const std::string& what) {
    throw data_error(fmt::format("{}: {}", where, what));
  };
  if (bytes.size() > std::numeric_limits<uInt>::max()) fail("is too large");
  Inflation inflation;
  z_stream& stream = inflation.stream;
  // zlib takes a pointer to non-const although it never writes there.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    const std::size_t done = out.size();
    if (done == limit) fail(fmt::format("unpacks to more than the {} bytes it may have", limit));
    out.resize(std::min(limit, std::max(kFirstPiece, 2 * done)));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream.avail_out = static_cast<uInt>(out.size() - done);
    state = ::inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (state != Z_OK && state != Z_STREAM_END)
      fail(stream.avail_in == 0 ? "ends too early; get it again"
                                : "is no .gz file or damaged; get it again");
  }
  return out;
}

}  // namespace deepvoro
