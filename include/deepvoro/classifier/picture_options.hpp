#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/classifier/fit_method.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/core/progress.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/picture/picture.hpp"

namespace deepvoro {

// A network for pictures, and why it is this one.
struct BackboneChoice {
  std::string name;
  std::string reason;
};

// What came of looking at pictures.
struct LookedAt {
  std::size_t pictures = 0;            // that could be read
  std::vector<std::string> skipped;    // the others: which, and why
  std::optional<std::string> warning;  // where the network has never seen such pictures
  double seconds = 0;
};

// What is told while pictures are looked at, on the calling thread and in this order. Each may be
// left out.
struct PictureEvents {
  // What a person may not have meant: of a collection (LabelledPictures::notes), or, at the end, of
  // pictures that are added.
  std::function<void(const std::string& note)> noticed = {};
  std::function<void(const std::string& backbone)> loading = {};  // a network, which takes seconds
  std::function<void(const BackboneChoice& backbone, std::size_t views)> loaded = {};
  Progress progress = {};
  // One that is skipped (`skip_bad`), in its place among the answers, and why; without its name.
  std::function<void(std::size_t picture, const std::string& reason)> skipped = {};
  std::function<void(const LookedAt& result)> looked = {};
};

// How pictures are looked at.
struct PictureOptions {
  // Name or file of the network. Empty: of a new classifier the one that suits the pictures, of
  // another its own.
  std::string backbone = {};
  std::string device = "cpu";  // or "cuda", which is faster and rounds features otherwise
  bool skip_bad = false;       // leave out pictures that cannot be read
  // Decode large JPEG files at a fraction of their size (Embedder::least_side()). A classifier
  // fitted with it remembers it and decodes all its pictures this way.
  bool fast_decode = false;
  unsigned threads = available_threads();
  PictureEvents events = {};
};

// How a classifier is made of pictures.
struct PictureFit {
  ClassFolders folders = ClassFolders::outer;
  std::string views = "4";  // ways to look at each picture, as parse_views() takes them
  Pool pool = {};           // members of an ensemble, instead of a method
  std::optional<FitMethod> method = {};  // ridge_vd where neither is given
  PictureOptions pictures = {};
};

}  // namespace deepvoro
