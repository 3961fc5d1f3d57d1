#include "trainer.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <utility>

#include "augmentation.hpp"
#include "core/companion_name.hpp"
#include "core/json_text.hpp"
#include "core/stopwatch.hpp"
#include "deepvoro/core/error.hpp"
#include "device.hpp"
#include "features/json_fields.hpp"
#include "inference.hpp"
#include "network_file.hpp"
#include "optimiser.hpp"
#include "turns.hpp"
#include "weight_average.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using torch::Tensor;

constexpr double kMixupAlpha = 2;
constexpr double kWarmUp = 0.05;  // share of all steps in which the rate grows

// What tells classes apart, and by how many quarters a picture was turned.
class Classifiers {
 public:
  Classifiers(std::size_t dim, std::size_t classes, ClassifierKind kind) : kind_(kind) {
    const auto in = static_cast<std::int64_t>(dim);
    const auto out = static_cast<std::int64_t>(classes);
    const double deviation = 1 / std::sqrt(static_cast<double>(dim));
    weight_ = torch::randn({out, in}) * deviation;
    bias_ = kind == ClassifierKind::linear ? torch::zeros({out}) : torch::full({1}, kStartScale);
    turn_weight_ = torch::randn({kTurns, in}) * deviation;
    turn_bias_ = torch::zeros({kTurns});
    for (const NamedTensor& entry : tensors()) entry.tensor->set_requires_grad(true);
  }

  [[nodiscard]] Tensor classes(const Tensor& features) const {
    if (kind_ == ClassifierKind::linear) return torch::linear(features, weight_, bias_);
    return torch::linear(unit(features), unit(weight_)) * bias_;
  }
  [[nodiscard]] Tensor turns(const Tensor& features) const {
    return torch::linear(features, turn_weight_, turn_bias_);
  }
  [[nodiscard]] std::vector<NamedTensor> tensors() {
    const char* second = kind_ == ClassifierKind::linear ? "classifier.bias" : "classifier.scale";
    return {{"classifier.weight", &weight_, true},
            {second, &bias_, true},
            {"turns.weight", &turn_weight_, true},
            {"turns.bias", &turn_bias_, true}};
  }
  void to(torch::Device device) {
    for (const NamedTensor& entry : tensors())
      *entry.tensor = placed(*entry.tensor, device).set_requires_grad(true);
  }

 private:
  static constexpr double kStartScale = 10;

  static Tensor unit(const Tensor& rows) { return rows / rows.norm(2, {1}, true).clamp_min(1e-6); }

  ClassifierKind kind_;
  Tensor weight_;
  Tensor bias_;  // or the scale of a cosine classifier
  Tensor turn_weight_;
  Tensor turn_bias_;
};

json to_json(const EpochReport& report) {
  json entry{{"epoch", report.epoch},
             {"loss", report.loss},
             {"accuracy", report.accuracy_percent},
             {"rate", report.rate},
             {"seconds", report.seconds},
             {"pictures_per_second", report.pictures_per_second}};
  if (report.val_accuracy_percent) entry["val_accuracy"] = *report.val_accuracy_percent;
  return entry;
}

EpochReport epoch_report(const json& entry, const std::string& where) {
  const JsonFields fields(entry, where);
  EpochReport report{fields.whole("epoch", 1),
                     fields.number("loss"),
                     fields.number("accuracy"),
                     fields.number("rate"),
                     fields.number("seconds"),
                     fields.number("pictures_per_second"),
                     {}};
  if (fields.has("val_accuracy")) report.val_accuracy_percent = fields.number("val_accuracy");
  return report;
}

class Trainer {
 public:
  Trainer(const TrainingSet& set, const TrainingOptions& options, fs::path model,
          TrainingMonitor& monitor)
      : options_(options),
        model_file_(std::move(model)),
        partial_file_(companion_name(model_file_, ".partial")),
        monitor_(monitor),
        device_(device_named(options.compute.device)),
        network_(seeded(options.seed, options.architecture)),
        classifiers_(network_.dim(), set.classes, options.classifier) {
    description_.architecture = options.architecture;
    description_.input_size = options.size;
    description_.pixels = options.pixels;
    description_.recipe_json = recipe_json(options);
    description_.data_sha256 = set.sha256;
    const auto count = static_cast<std::int64_t>(set.size());
    const auto side = static_cast<std::int64_t>(set.side);
    // Not written to, though from_blob takes what may be.
    pictures_ = torch::from_blob(const_cast<std::uint8_t*>(set.pixels.data()),
                                 {count, side, side, 3}, torch::kUInt8)
                    .to(device_);
    labels_ = torch::from_blob(const_cast<std::int64_t*>(set.labels.data()), {count}, torch::kInt64)
                  .to(device_);
    steps_in_epoch_ = (set.size() + options.batch - 1) / options.batch;
    if (set.size() % options.batch == 1) --steps_in_epoch_;  // one picture has no statistics
    network_.to(device_);
    classifiers_.to(device_);
    std::vector<NamedTensor> parameters = network_.tensors();
    for (const NamedTensor& entry : classifiers_.tensors()) parameters.push_back(entry);
    optimiser_.emplace(std::move(parameters), options.optimiser, options.weight_decay);
    network_.set_dropout(options.dropout);
    if (options.average > 0) average_.emplace(network_, options.architecture, options.average);
  }

  void run() {
    if (fs::exists(partial_file_)) go_on();
    // Shows before the first epoch whether there is enough to validate on.
    if (reports_.empty()) (void)validation();
    while (reports_.size() < options_.epochs) {
      EpochReport report = train_epoch(reports_.size());
      const bool last = report.epoch == options_.epochs;
      if (last || report.epoch % options_.validate_every == 0)
        report.val_accuracy_percent = validation();
      reports_.push_back(report);
      keep(report, last);
      monitor_.epoch(reports_);
    }
    std::error_code ignored;
    fs::remove(partial_file_, ignored);
  }

 private:
  static const Architecture& seeded(std::uint32_t seed, const Architecture& architecture) {
    torch::manual_seed(seed);
    return architecture;
  }

  [[nodiscard]] std::vector<NamedTensor> everything() {
    std::vector<NamedTensor> all = network_.tensors();
    for (const NamedTensor& entry : classifiers_.tensors()) all.push_back(entry);
    for (const NamedTensor& entry : optimiser_->state()) all.push_back(entry);
    if (average_)
      for (const NamedTensor& entry : average_->state()) all.push_back(entry);
    return all;
  }

  // The network to be validated and written.
  [[nodiscard]] Network& outcome() { return average_ ? average_->network() : network_; }

  std::optional<double> validation() {
    if (average_) measure_statistics(average_->network());
    outcome().set_training(false);
    return monitor_.validate(*as_backbone(outcome(), description_, device_));
  }

  // Running statistics belong to the weights that produced them, not to their average, and to
  // pictures turned and mixed. Those of the average are measured on pictures as they will be seen.
  void measure_statistics(Network& network) const {
    const torch::NoGradGuard no_gradients;
    const Tensor order = sent(torch::randperm(labels_.size(0), torch::kInt64), device_);
    for (std::size_t step = 0; step < std::min(steps_in_epoch_, kMeasuringSteps); ++step) {
      network.set_training(true, 1 / static_cast<double>(step + 1));
      (void)network.forward(augmented(pictures_.index_select(0, batch(order, step)), options_)
                                .to(working_type(device_)));
    }
  }

  [[nodiscard]] Tensor batch(const Tensor& order, std::size_t step) const {
    const auto size = static_cast<std::int64_t>(options_.batch);
    const std::int64_t begin = static_cast<std::int64_t>(step) * size;
    return order.slice(0, begin, begin + size);
  }

  EpochReport train_epoch(std::size_t epoch) {
    // Every epoch has a stream of its own, whichever run it belongs to.
    torch::manual_seed((std::uint64_t{options_.seed} << 32U) + epoch + 1);
    network_.set_training(true);
    const Stopwatch epoch_time;
    const Tensor order = sent(torch::randperm(labels_.size(0), torch::kInt64), device_);
    Tensor loss_sum = torch::zeros({1}, device_);
    Tensor correct = torch::zeros({1}, device_);
    std::int64_t seen = 0;
    double rate = 0;
    for (std::size_t step = 0; step < steps_in_epoch_; ++step) {
      const Tensor rows = batch(order, step);
      const Tensor labels = labels_.index_select(0, rows);
      const Tensor loss = losses(augmented(pictures_.index_select(0, rows), options_), labels,
                                 2 * epoch >= options_.epochs, correct);
      loss.backward();
      rate = rate_at(epoch * steps_in_epoch_ + step);
      optimiser_->step(rate);
      if (average_) average_->add(epoch * steps_in_epoch_ + step);
      loss_sum += loss.detach() * rows.size(0);
      seen += rows.size(0);
      if (step + 1 == steps_in_epoch_ || (!reported_ || reported_->seconds() > kReportSeconds))
        report_step(epoch, step, seen, loss_sum, epoch_time);
    }
    const double seconds = epoch_time.seconds();
    const double loss = loss_sum.item<double>() / static_cast<double>(seen);
    if (!std::isfinite(loss))
      throw data_error(fmt::format("epoch {}: the loss is not finite; try a smaller `rate` than {}",
                                   epoch + 1, options_.rate));
    return {epoch + 1, loss,    100 * correct.item<double>() / static_cast<double>(seen),
            rate,      seconds, static_cast<double>(seen) / seconds,
            {}};
  }

  Tensor losses(const Tensor& pictures, const Tensor& labels, bool second_half, Tensor& correct) {
    switch (options_.procedure) {
      case Procedure::softmax: {
        const Tensor scores = classifiers_.classes(features(pictures));
        count(scores, labels, correct);
        return torch::cross_entropy_loss(scores, labels);
      }
      case Procedure::rotation:
        return rotation_loss(pictures, labels, correct);
      case Procedure::mixup:
        return mixup_loss(pictures, labels, &correct);
      case Procedure::s2m2:
        break;
    }
    const Tensor rotation = rotation_loss(pictures, labels, correct);
    return second_half ? rotation + mixup_loss(pictures, labels, nullptr) : rotation;
  }

  [[nodiscard]] Tensor features(const Tensor& pictures, const std::optional<Mix>& mix = {}) const {
    return network_.forward(pictures.to(working_type(device_)), mix);
  }

  Tensor rotation_loss(const Tensor& pictures, const Tensor& labels, Tensor& correct) const {
    const Turned turned = options_.all_turns ? turned_in_all_ways(pictures, labels)
                                             : turned_at_random(pictures, labels);
    const Tensor seen = features(turned.pictures.contiguous(torch::MemoryFormat::ChannelsLast));
    const Tensor scores = classifiers_.classes(seen);
    count(scores, turned.labels, correct);
    return (torch::cross_entropy_loss(scores, turned.labels) +
            torch::cross_entropy_loss(classifiers_.turns(seen), turned.turns)) /
           2;
  }

  Tensor mixup_loss(const Tensor& pictures, const Tensor& labels, Tensor* correct) const {
    const Tensor shares = torch::_standard_gamma(torch::full({2}, kMixupAlpha));
    const double share = (shares[0] / shares.sum()).item<double>();
    const auto stage = torch::randint(static_cast<std::int64_t>(network_.stages()), {1});
    const Tensor order = sent(torch::randperm(pictures.size(0), torch::kInt64), device_);
    const Mix mix{static_cast<std::size_t>(stage.item<double>()), order, share};
    const Tensor scores = classifiers_.classes(features(pictures, mix));
    const Tensor others = labels.index_select(0, order);
    if (correct != nullptr) count(scores, share >= 0.5 ? labels : others, *correct);
    return torch::cross_entropy_loss(scores, labels) * share +
           torch::cross_entropy_loss(scores, others) * (1 - share);
  }

  static void count(const Tensor& scores, const Tensor& labels, Tensor& correct) {
    correct += (scores.detach().argmax(1) == labels).sum();
  }

  [[nodiscard]] double rate_at(std::size_t step) const {
    const auto all = static_cast<double>(options_.epochs * steps_in_epoch_);
    const double done = static_cast<double>(step) / all;
    const double warm = std::min(1.0, (static_cast<double>(step) + 1) / (kWarmUp * all));
    return options_.rate * warm * (1 + std::cos(std::numbers::pi * done)) / 2;
  }

  // Waits for the device.
  void report_step(std::size_t epoch, std::size_t step, std::int64_t seen, const Tensor& loss_sum,
                   const Stopwatch& epoch_time) {
    const double done = static_cast<double>(epoch) +
                        static_cast<double>(step + 1) / static_cast<double>(steps_in_epoch_);
    monitor_.step(done / static_cast<double>(options_.epochs),
                  static_cast<double>(seen) / epoch_time.seconds(),
                  loss_sum.item<double>() / static_cast<double>(seen));
    reported_ = Stopwatch();
  }

  void keep(const EpochReport& report, bool last) {
    const bool is_best = report.val_accuracy_percent && *report.val_accuracy_percent > best_;
    if (is_best) best_ = *report.val_accuracy_percent;
    if (is_best || (last && !report.val_accuracy_percent)) {
      // A model without a state beside it would be taken for that of a finished training.
      if (!fs::exists(partial_file_)) write_state(state_before_the_first_epoch(), {});
      write_network(model_file_, description_, outcome().tensors());
    }
    if (kept_ && kept_->seconds() < options_.keep_every_seconds) return;
    json reports = json::array();
    for (const EpochReport& entry : reports_) reports.push_back(to_json(entry));
    write_state({{"reports", reports}, {"best", best_}}, everything());
    kept_ = Stopwatch();
  }

  static json state_before_the_first_epoch() { return {{"reports", json::array()}}; }

  void write_state(const json& state, const std::vector<NamedTensor>& tensors) {
    write_network(partial_file_, description_, tensors, WeightType::float32,
                  {{"training", state.dump()}});
  }

  void go_on() {
    const ModelFile partial(partial_file_);
    const std::string where = partial_file_.string();
    if (partial.description() != description_)
      throw data_error(
          fmt::format("{}: belongs to a training with other options or pictures; finish that one "
                      "with its command, or delete the file to start over",
                      where));
    const auto found = partial.tensors().metadata().find("training");
    const json state =
        found == partial.tensors().metadata().end() ? json() : parse_json(found->second);
    if (state == state_before_the_first_epoch()) return;
    const JsonFields fields(state, where);
    for (const json& entry : fields.list("reports")) reports_.push_back(epoch_report(entry, where));
    best_ = fields.number("best");
    read_tensors(partial, everything());
    network_.to(device_);
    classifiers_.to(device_);
    for (const NamedTensor& entry : optimiser_->state())
      if (entry.name != "optimiser.steps") *entry.tensor = placed(*entry.tensor, device_);
    if (average_) average_->network().to(device_);
  }

  static constexpr double kReportSeconds = 0.5;
  static constexpr std::size_t kMeasuringSteps = 64;

  const TrainingOptions& options_;
  fs::path model_file_;
  fs::path partial_file_;
  TrainingMonitor& monitor_;
  torch::Device device_;
  ModelDescription description_;
  Network network_;
  Classifiers classifiers_;
  std::optional<Optimiser> optimiser_;
  std::optional<WeightAverage> average_;
  Tensor pictures_;
  Tensor labels_;
  std::size_t steps_in_epoch_ = 0;
  std::vector<EpochReport> reports_;
  std::optional<Stopwatch> reported_;
  std::optional<Stopwatch> kept_;
  double best_ = -1;
};

}  // namespace

void train_network(const TrainingSet& set, const TrainingOptions& options, const fs::path& model,
                   TrainingMonitor& monitor) {
  check(options);
  at::set_num_threads(static_cast<int>(options.compute.threads));
  Trainer(set, options, model, monitor).run();
}

}  // namespace deepvoro
