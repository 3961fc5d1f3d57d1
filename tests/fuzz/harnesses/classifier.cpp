#include "deepvoro/classifier/classifier.hpp"

#include "fuzz/harness.hpp"
#include "fuzz/mended_hash.hpp"

namespace deepvoro::fuzz {
namespace {

using nlohmann::json;

std::vector<std::string> hashed_tensors(const json& description) {
  std::vector<std::string> names;
  if (!description.is_object()) return names;
  const json views = description.value("views", json());
  for (const json& view : views)
    if (view.is_string()) names.push_back(view);
  if (description.contains("statistics"))
    for (const std::string& array : statistics_arrays(description["statistics"]))
      names.push_back("." + array);
  return names;
}

const Harness classifier_harness("classifier", [](Bytes bytes) {
  const std::vector<std::byte> file = with_right_hash(bytes, hashed_tensors);
  (void)Classifier::load(file_with(file, "classifier.dv"));
});

}  // namespace
}  // namespace deepvoro::fuzz
