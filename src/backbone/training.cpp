#include "deepvoro/backbone/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/names.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "picture/collection.hpp"
#include "picture/resize.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr std::array kProcedureNames{"softmax", "rotation", "mixup", "s2m2"};

bool turns(Procedure procedure) {
  return procedure == Procedure::rotation || procedure == Procedure::s2m2;
}

}  // namespace

Procedure procedure_named(const std::string& name) {
  return value_named<Procedure>(name, kProcedureNames, "'{}' is not a procedure; use one of {}");
}

const char* name(Procedure procedure) {
  return name_of(procedure, kProcedureNames);
}

void check(const TrainingOptions& options) {
  check(options.architecture);
  const auto at_least_one = [](std::size_t value, const char* what) {
    if (value == 0) throw usage_error(fmt::format("{} must be at least 1", what));
  };
  at_least_one(options.epochs, "`epochs`");
  at_least_one(options.validate_every, "`validate_every`");
  at_least_one(options.compute.threads, "`threads`");
  if (options.batch < 2) throw usage_error("`batch` must be at least 2: pictures are compared");
  if (!(options.rate > 0 && options.rate <= 10))
    throw usage_error(fmt::format("`rate` {}: must be above 0 and at most 10", options.rate));
  if (!(options.weight_decay >= 0 && options.weight_decay < 1))
    throw usage_error("`weight_decay` must be from 0 to below 1");
  if (!(options.smallest_crop > 0 && options.smallest_crop <= 1))
    throw usage_error("`smallest_crop` is a share of the picture, above 0 and at most 1");
  if (!(options.jitter >= 0 && options.jitter < 1))
    throw usage_error("`jitter` must be from 0 to below 1");
  if (options.all_turns && !turns(options.procedure))
    throw usage_error(fmt::format("`all_turns`: {} does not rotate pictures; rotation and s2m2 do",
                                  name(options.procedure)));
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw usage_error("`dropout` must be from 0 to below 1");
  if (options.dropout > 0 && options.architecture.name != "wrn-28-10")
    throw usage_error(
        fmt::format("`dropout`: {} has none; only wrn-28-10 does", options.architecture.name));
  if (!(options.average >= 0 && options.average < 1))
    throw usage_error("`average` must be from 0 to below 1");
  const std::size_t least = smallest_input(options.architecture);
  if (options.size < least || options.size > 1024)
    throw usage_error(fmt::format("`size` {}: {} takes pictures of {} to 1024 pixels", options.size,
                                  options.architecture.name, least));
}

std::string recipe_json(const TrainingOptions& options) {
  json recipe{{"procedure", name(options.procedure)},
              {"classifier", options.classifier == ClassifierKind::linear ? "linear" : "cosine"},
              {"optimiser", options.optimiser == OptimiserKind::sgd ? "sgd" : "adam"},
              {"size", options.size},
              {"epochs", options.epochs},
              {"batch", options.batch},
              {"rate", options.rate},
              {"weight_decay", options.weight_decay},
              {"smallest_crop", options.smallest_crop},
              {"flip", options.flip},
              {"jitter", options.jitter},
              {"seed", options.seed},
              {"validate_every", options.validate_every}};
  // Named where they are used, so that other trainings keep their descriptions.
  if (options.all_turns) recipe["all_turns"] = true;
  if (options.dropout > 0) recipe["dropout"] = options.dropout;
  if (options.average > 0) recipe["average"] = options.average;
  return recipe.dump();
}

std::size_t kept_side(const TrainingOptions& options) {
  constexpr double largest = 2;
  const double factor = std::min(largest, 1 / std::sqrt(options.smallest_crop));
  return static_cast<std::size_t>(std::ceil(static_cast<double>(options.size) * factor));
}

TrainingSet read_training_set(const std::filesystem::path& path, const TrainingOptions& options) {
  const PictureCollection collection = PictureCollection::open(path);
  TrainingSet set;
  set.side = kept_side(options);
  set.classes = collection.classes().size();
  set.sha256 = collection.sha256();
  if (set.classes < 2)
    throw data_error(
        fmt::format("{}: has pictures of one class; training tells classes apart", path.string()));
  const std::size_t bytes = set.side * set.side * 3;
  set.pixels.resize(collection.size() * bytes);
  set.labels.resize(collection.size());
  parallel_for(options.compute.threads, collection.size(), 16,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const Bitmap bitmap = resized(collection.read(i), set.side, set.side);
                   std::ranges::copy(bitmap.pixels,
                                     set.pixels.begin() + static_cast<std::ptrdiff_t>(i * bytes));
                   set.labels[i] = static_cast<std::int64_t>(collection.label(i));
                 }
               });
  return set;
}

}  // namespace deepvoro
