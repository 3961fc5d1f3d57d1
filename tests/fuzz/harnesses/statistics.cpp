#include "deepvoro/classifier/backbone_statistics.hpp"
#include "fuzz/harness.hpp"
#include "fuzz/mended_hash.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness statistics_harness("statistics", [](Bytes bytes) {
  const std::vector<std::byte> file = with_right_hash(bytes, statistics_arrays);
  (void)BackboneStatistics::load(file_with(file, "network.statistics"));
});

}  // namespace
}  // namespace deepvoro::fuzz
