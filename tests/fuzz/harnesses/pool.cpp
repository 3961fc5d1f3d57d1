#include "deepvoro/ensemble/pool.hpp"

#include <stdexcept>

#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness pool_harness("pool", [](Bytes bytes) {
  const auto file = file_with(bytes, "pool.json");
  (void)tuned_shots(file);
  const Pool pool = read_pool(file);
  // What was read can be written and read again.
  if (pool_from_json(members_json(pool), "again") != pool) throw std::logic_error("another pool");
});

}  // namespace
}  // namespace deepvoro::fuzz
