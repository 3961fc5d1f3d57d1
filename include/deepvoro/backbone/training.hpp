#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/export.hpp"

namespace deepvoro {

enum class Procedure {
  softmax,   // tell the classes apart (SimpleShot)
  rotation,  // and by which quarter a picture was turned
  mixup,     // tell the shares of two pictures whose hidden layers are mixed (manifold mixup)
  s2m2,      // rotation for the first half, then mixup and rotation together (S2M2_R)
};
enum class ClassifierKind { linear, cosine };
enum class OptimiserKind { sgd, adam };

[[nodiscard]] DEEPVORO_API Procedure procedure_named(const std::string& name);
[[nodiscard]] DEEPVORO_API const char* name(Procedure procedure);

struct TrainingOptions {
  Architecture architecture;
  PixelScale pixels;
  Procedure procedure = Procedure::softmax;
  ClassifierKind classifier = ClassifierKind::linear;
  OptimiserKind optimiser = OptimiserKind::sgd;
  std::size_t size = 84;  // of the pictures the network sees
  std::size_t epochs = 30;
  std::size_t batch = 64;
  double rate = 0.05;
  double weight_decay = 5e-4;
  double smallest_crop = 0.4;  // share of the picture's area
  bool flip = true;
  double jitter = 0.4;  // of brightness, contrast and saturation
  // A quarter of a batch turned in all four ways, instead of every picture in a random one.
  bool all_turns = false;
  double dropout = 0;  // share, in wide networks
  // The network that is validated and written is an average over the steps, each of which keeps
  // this share of it; 0: the network itself.
  double average = 0;
  std::uint32_t seed = 0;
  std::size_t validate_every = 2;  // epochs
  double keep_every_seconds = 20;  // at most this much work is lost when a training is killed
  ComputeOptions compute;
};

// Throws a usage error when a number makes no sense.
DEEPVORO_API void check(const TrainingOptions& options);

// The options that the weights depend on, as JSON.
[[nodiscard]] DEEPVORO_API std::string recipe_json(const TrainingOptions& options);

// The side at which training pictures are kept: large enough that the smallest crop need not be
// enlarged, and at most twice what the network sees.
[[nodiscard]] DEEPVORO_API std::size_t kept_side(const TrainingOptions& options);

// Pictures in memory, all squares of one side.
struct TrainingSet {
  std::size_t side = 0;
  std::vector<std::uint8_t> pixels;  // [pictures, side, side, 3]
  std::vector<std::int64_t> labels;
  std::size_t classes = 0;
  std::string sha256;

  [[nodiscard]] std::size_t size() const { return labels.size(); }
};

[[nodiscard]] DEEPVORO_API TrainingSet read_training_set(const std::filesystem::path& collection,
                                                         const TrainingOptions& options);

struct EpochReport {
  std::size_t epoch = 0;  // from 1
  double loss = 0;
  double accuracy_percent = 0;  // on the pictures as they were trained on
  double rate = 0;
  double seconds = 0;
  double pictures_per_second = 0;
  std::optional<double> val_accuracy_percent;
};

// Follows a training. What a member throws ends it.
class DEEPVORO_API TrainingMonitor {
 public:
  virtual ~TrainingMonitor() = default;

  virtual void step(double fraction, double pictures_per_second, double loss) = 0;
  virtual void epoch(const std::vector<EpochReport>& all) = 0;
  // Few-shot accuracy on the split val; nothing where there is none.
  [[nodiscard]] virtual std::optional<double> validate(Backbone& backbone) = 0;
};

}  // namespace deepvoro
