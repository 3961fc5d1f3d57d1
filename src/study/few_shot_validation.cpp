#include "deepvoro/study/few_shot_validation.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "deepvoro/core/parallel.hpp"
#include "deepvoro/picture/view.hpp"
#include "deepvoro/study/evaluate.hpp"
#include "features/npy.hpp"
#include "features/store_files.hpp"
#include "picture/collection.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

constexpr const char* kView = "s84_r0_f0";  // any name will do
constexpr std::size_t kBatch = 64;
constexpr std::size_t kEpisodes = 400;

class RemovedAtTheEnd {
 public:
  explicit RemovedAtTheEnd(const fs::path& folder) : folder_(folder) {}
  RemovedAtTheEnd(const RemovedAtTheEnd&) = delete;
  RemovedAtTheEnd& operator=(const RemovedAtTheEnd&) = delete;
  ~RemovedAtTheEnd() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

 private:
  const fs::path& folder_;
};

}  // namespace

FewShotValidation::FewShotValidation(const fs::path& collection, std::size_t size, fs::path scratch,
                                     unsigned threads)
    : scratch_(std::move(scratch)), threads_(threads) {
  const PictureCollection found = PictureCollection::open(collection);
  classes_ = found.classes();
  pictures_.resize(found.size());
  labels_.resize(found.size());
  parallel_for(threads, found.size(), 16, [&](std::size_t begin, std::size_t end, unsigned) {
    for (std::size_t i = begin; i < end; ++i) {
      pictures_[i] = apply(View{.size = size}, found.read(i));
      labels_[i] = static_cast<std::int64_t>(found.label(i));
    }
  });
}

void FewShotValidation::write_store(Backbone& backbone) const {
  const std::size_t dim = backbone.dim();
  std::vector<float> features(pictures_.size() * dim);
  for (std::size_t begin = 0; begin < pictures_.size(); begin += kBatch) {
    const std::size_t count = std::min(kBatch, pictures_.size() - begin);
    backbone.embed(std::span(pictures_).subspan(begin, count),
                   std::span(features).subspan(begin * dim, count * dim));
  }
  fs::create_directories(scratch_ / "val");
  write_npy(scratch_ / "val" / (std::string(kView) + ".npy"), "<f4",
            std::array<std::uint64_t, 2>{pictures_.size(), dim},
            std::as_bytes(std::span(features)));
  write_store_labels(scratch_, "val", labels_);
  write_store_description(
      scratch_, {.dim = dim, .views = {kView}, .splits = {{"val", {labels_.size(), classes_}}}});
}

double FewShotValidation::accuracy_percent(Backbone& backbone) const {
  const RemovedAtTheEnd removed(scratch_);
  write_store(backbone);
  const FeatureStore store(scratch_);
  Evaluation request{.method = Method::vd, .split = "val", .is_signed = true, .threads = threads_};
  request.plan.count = kEpisodes;
  double sum = 0;
  for (const std::size_t shots : {std::size_t{1}, std::size_t{5}}) {
    request.plan.shape.shots = shots;
    sum += evaluate(store, request).accuracy.mean;
  }
  return sum / 2;
}

}  // namespace deepvoro
