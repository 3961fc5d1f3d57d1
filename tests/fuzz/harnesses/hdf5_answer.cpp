#include "features/formats/hdf5_file.hpp"

#include <stdexcept>

#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

// What a process says that a file may have taken over: names or an array, by the first byte.
const Harness hdf5_answer_harness("hdf5_answer", [](Bytes bytes) {
  if (bytes.empty()) return;
  const ChildAnswer answer{nullptr, bytes.subspan(1)};
  if (bytes[0] == std::byte{'n'}) {
    (void)names_in(answer, "file.h5");
    return;
  }
  const LoadedArray loaded = array_in(answer, "file.h5");
  if (array_bytes(loaded.array.shape, number_size(loaded.array.type)) != loaded.array.data.size())
    throw std::logic_error("an array of another size");
});

}  // namespace
}  // namespace deepvoro::fuzz
