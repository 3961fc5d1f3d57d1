#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "backbone/split_pictures.hpp"
#include "deepvoro/backbone/extraction.hpp"

namespace deepvoro {

// Who made a store, as its provenance tells.
inline constexpr const char* kExtract = "deepvoro extract";

// What an extraction is made from: the pictures of its splits, and how a network sees them. Refers
// to both arguments.
class ExtractionInputs {
 public:
  ExtractionInputs(const Extraction& request, const Backbone& backbone);

  // For decode_picture().
  [[nodiscard]] std::size_t least_side() const { return least_side_; }
  [[nodiscard]] std::map<std::string, SplitPictures>& splits() { return splits_; }
  [[nodiscard]] const std::map<std::string, SplitPictures>& splits() const { return splits_; }

  // Decodes with `fast_decode` as for larger views, which are in the store already. To be called
  // before pictures are read.
  void keep_side(std::size_t side);

  // Leaves out what the request says. A split without pictures is a data error.
  void take_usable();

  // All that features depend on but what is in the pictures, as a store tells it.
  [[nodiscard]] nlohmann::json settings() const;
  // What is in the pictures: a hash for each split.
  [[nodiscard]] nlohmann::json picture_hashes() const;
  // What the model says of itself, for people; its hash tells whether it is the same.
  [[nodiscard]] nlohmann::json told_of_backbone() const;

  // Of all splits, for people.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] std::vector<std::string> skipped() const;

 private:
  const Extraction& request_;
  const Backbone& backbone_;
  std::size_t least_side_;
  std::atomic<std::int64_t> cache_bytes_left_;
  std::map<std::string, SplitPictures> splits_;
};

}  // namespace deepvoro
