#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/export.hpp"
#include "deepvoro/picture/picture.hpp"
#include "deepvoro/picture/view.hpp"

namespace deepvoro {

// Pictures to a feature store.
struct Extraction {
  std::filesystem::path pictures;  // one collection, or a folder of splits
  std::filesystem::path model;     // for its hash
  std::filesystem::path out;       // the feature store
  std::vector<View> views;
  SizeRule size_rule = SizeRule::release;
  std::string split = {};  // of the one collection, or the only one to take; empty: novel, or all
  std::string device = "cpu";  // that the network is on; features of others may round otherwise
  std::size_t batch = 64;
  unsigned threads = 1;
  bool skip_bad = false;  // leave out pictures that cannot be read
  ClassFolders folders = ClassFolders::outer;
  bool fast_decode = false;  // large JPEG files at a fraction of their size (Embedder::least_side)
};

struct ExtractionResult {
  std::size_t views_before = 0;  // that an earlier run had made
  std::size_t views_made = 0;
  std::size_t pictures = 0;  // looked at, once for each view
  double seconds = 0;
  double pictures_per_second = 0;    // after the first batch
  std::vector<std::string> skipped;  // split, picture and reason
  std::vector<std::string> notes;    // what a person may not have meant
};

using ExtractionProgress = std::function<void(double fraction, double pictures_per_second)>;

// Writes float16 features view by view. The store is whole at every moment: a view is named in
// store.json when all its files are there, and a run that was ended goes on with the first view
// that is not. A store of another model, of other pictures or sizes is refused.
DEEPVORO_API ExtractionResult extract(const Extraction& request, Backbone& backbone,
                                      const ExtractionProgress& progress = {});

}  // namespace deepvoro
