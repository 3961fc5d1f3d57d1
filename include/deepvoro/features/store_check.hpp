#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/features/store.hpp"

namespace deepvoro {

struct ClassSize {
  std::string name;
  std::size_t samples = 0;
};

struct SplitSummary {
  std::string name;
  std::size_t samples = 0;
  std::size_t classes = 0;
  ClassSize smallest;
  ClassSize largest;
  std::vector<ElementType> elements;  // the types its views have, each once
  std::uint64_t bytes = 0;            // of its files
};

// What can be said about a store without reading its features: labels and heads of files only.
[[nodiscard]] DEEPVORO_API std::vector<SplitSummary> summarize_splits(const FeatureStore& store);

struct StoreCheck {
  std::vector<std::string> notes;     // what is odd but allowed, a line each
  std::vector<std::string> warnings;  // what is most likely a mistake
  std::size_t files = 0;
  std::uint64_t values = 0;
};

// Reads every file of a store whole. Throws at the first thing that is wrong.
[[nodiscard]] DEEPVORO_API StoreCheck check_store(const FeatureStore& store, unsigned threads = 1);

}  // namespace deepvoro
