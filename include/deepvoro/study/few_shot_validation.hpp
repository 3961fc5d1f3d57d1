#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/export.hpp"

namespace deepvoro {

// Few-shot accuracy of a backbone on the pictures of a split val: 5-way 1-shot and 5-shot, the mean
// of both in percent, vd on one view, by the engine that evaluates everything else. Pictures are
// read once; features go through a store in `scratch`, which is removed.
class DEEPVORO_API FewShotValidation {
 public:
  FewShotValidation(const std::filesystem::path& collection, std::size_t size,
                    std::filesystem::path scratch, unsigned threads = 1);

  [[nodiscard]] double accuracy_percent(Backbone& backbone) const;

 private:
  void write_store(Backbone& backbone) const;

  std::vector<Bitmap> pictures_;
  std::vector<std::int64_t> labels_;
  std::vector<std::string> classes_;
  std::filesystem::path scratch_;
  unsigned threads_;
};

}  // namespace deepvoro
