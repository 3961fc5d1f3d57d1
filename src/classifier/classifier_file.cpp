#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"
#include "ensemble/pool_json.hpp"
#include "features/formats/feature_table.hpp"
#include "features/formats/half.hpp"
#include "features/formats/safetensors_file.hpp"
#include "features/json_fields.hpp"
#include "ordered_samples.hpp"
#include "state.hpp"
#include "statistics_json.hpp"

// The file is a .safetensors file: a tensor a view, and in the metadata a description and the hash
// of everything (docs/FORMATS.md).
namespace deepvoro {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kFormat = "deepvoro-classifier";
constexpr const char* kDescriptionKey = "deepvoro";
constexpr const char* kHashKey = "sha256";
constexpr const char* kStatisticsKey = "statistics";
constexpr const char* kVersionKey = "version";
constexpr std::size_t kVersion = 3;
// Other methods than ridge-vd are as they are now.
constexpr std::size_t kSecondVersion = 2;
// One method, and less in its calibration, which follows from the rest.
constexpr std::size_t kFirstVersion = 1;
constexpr const char* kChoiceKey = "ridge_vd";
constexpr const char* kFastDecodeKey = "fast_decode";  // left out where it is false

// No view begins with a point.
std::string statistics_tensor(const std::string& array) {
  return "." + array;
}

bool fits_half(float value) {
  return std::abs(value) <= kLargestHalf && half_to_float(float_to_half(value)) == value;
}

std::string hash_of_values(std::span<const float> values, NumberType type,
                           const std::string& name) {
  if (type == NumberType::float32) return sha256_line(std::as_bytes(values), name);
  std::vector<std::uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), float_to_half);
  return sha256_line(std::as_bytes(std::span(halves)), name);
}

// So that a description stays the same when it is read and written again.
ordered_json with_sorted_keys(const std::string& text) {
  return parse_json(text);
}

ordered_json describe(const Calibration& calibration) {
  ordered_json left_out = ordered_json::array();
  for (const std::optional<std::size_t>& answer : calibration.left_out)
    left_out.push_back(answer ? ordered_json(*answer) : ordered_json());
  ordered_json description{{"temperature", calibration.temperature},
                           {"thresholds", calibration.thresholds},
                           {"left_out", left_out}};
  if (const auto& choice = calibration.ridge_vd)
    description[kChoiceKey] = {{"exponent", choice->exponent},
                               {"strength", choice->strength},
                               {"logistic", choice->is_logistic},
                               {"usual_variance", choice->usual_variance},
                               {"gain", choice->gain}};
  return description;
}

ordered_json describe(const NamedSamples& support, const ClassifierOptions& options,
                      const Calibration& calibration) {
  ordered_json classes = ordered_json::array();
  for (const std::string& name : support.classes)
    classes.push_back({{"name", name}, {"samples", ordered_json::array()}});
  for (std::size_t i = 0; i < support.labels.size(); ++i)
    classes[support.labels[i]]["samples"].push_back(support.names[i]);
  ordered_json origin{{"backbone", options.origin.backbone},
                      {"sha256", options.origin.sha256},
                      {"description", with_sorted_keys(options.origin.description_json)}};
  if (options.origin.fast_decode) origin[kFastDecodeKey] = true;
  ordered_json description = {{"format", kFormat},
                              {kVersionKey, kVersion},
                              {"dim", support.dim},
                              {"views", options.views},
                              {"classes", classes},
                              {"method", name(*options.method)},
                              {"members", to_json(options.pool)},
                              {"origin", std::move(origin)},
                              {"calibration", describe(calibration)}};
  if (options.statistics != nullptr) description[kStatisticsKey] = describe(*options.statistics);
  return description;
}

double above_zero(const JsonFields& fields, const char* key) {
  const double value = fields.number(key);
  if (!(value > 0)) fields.fail(key, "must be above 0");
  return value;
}

RidgeVoronoiChoice read_choice(const JsonFields& fields) {
  return {.exponent = above_zero(fields, "exponent"),
          .strength = above_zero(fields, "strength"),
          .is_logistic = fields.flag("logistic"),
          .usual_variance = above_zero(fields, "usual_variance"),
          .gain = fields.number("gain")};
}

Calibration read_calibration(const JsonFields& fields, FitMethod method, std::size_t samples,
                             std::size_t classes) {
  Calibration calibration{
      .temperature = above_zero(fields, "temperature"), .thresholds = {}, .left_out = {}};
  const json& thresholds = fields.list("thresholds");
  if (thresholds.size() != calibration.thresholds.size() ||
      !std::ranges::all_of(thresholds, [](const json& value) { return value.is_number(); }))
    fields.fail("thresholds", "must be a list of three numbers");
  std::ranges::copy(thresholds, calibration.thresholds.begin());
  for (const json& answer : fields.list("left_out")) {
    if (!answer.is_null() && !(answer.is_number_unsigned() && answer < classes))
      fields.fail("left_out", "must be a list of numbers of classes and null");
    calibration.left_out.push_back(answer.is_null() ? std::nullopt
                                                    : std::optional<std::size_t>(answer));
  }
  if (calibration.left_out.size() != samples)
    fields.fail("left_out", "must have an entry for each sample");
  if (method == FitMethod::ridge_vd) calibration.ridge_vd = read_choice(fields.object(kChoiceKey));
  return calibration;
}

std::vector<std::string> texts(const JsonFields& fields, const char* key) {
  std::vector<std::string> list;
  for (const json& text : fields.list(key)) {
    if (!text.is_string()) fields.fail(key, "must be a list of strings");
    list.push_back(text);
  }
  return list;
}

// What a file holds, checked.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : where_(path.string()), file_(path) {
    const auto& metadata = file_.metadata();
    const auto description = metadata.find(kDescriptionKey);
    if (description != metadata.end()) description_ = parse_json(description->second);
    if (!description_.is_object() || description_.value("format", json()) != kFormat)
      throw data_error(fmt::format("{}: is a .safetensors file of another kind", where_));
    const JsonFields fields(description_, where_);
    const std::size_t version = fields.whole(kVersionKey, 0);
    if (version < kFirstVersion || version > kVersion)
      fields.fail(kVersionKey,
                  fmt::format("must be {} to {}, which this program reads; fit it again",
                              kFirstVersion, kVersion));
    is_outdated_ = version == kFirstVersion && description_.contains(kStatisticsKey);
    if (is_outdated_) return;
    options_.views = texts(fields, "views");
    read_tensors(fields.whole("dim", 1), description->second);
    if (!description_.value("members", json()).is_array()) fields.fail("members", "is not a list");
    if (!description_["members"].empty()) options_.pool = pool_of(description_["members"], where_);
    const JsonFields origin = fields.object("origin");
    options_.origin = {
        origin.text("backbone"), origin.text("sha256"),
        description_["origin"].value("description", json::object()).dump(),
        description_["origin"].contains(kFastDecodeKey) && origin.flag(kFastDecodeKey)};
    read_classes(fields);
    if (version == kFirstVersion) {
      options_.method = FitMethod::deepvoro;
      return;
    }
    options_.method = fit_method_named(fields.text("method"));
    if (version == kSecondVersion && options_.method == FitMethod::ridge_vd) return;
    calibration_ = read_calibration(fields.object("calibration"), *options_.method,
                                    samples_.labels.size(), samples_.classes.size());
  }

  // Whether it holds what the program no longer knows.
  [[nodiscard]] bool is_outdated() const { return is_outdated_; }
  [[nodiscard]] NamedSamples support() const {
    const std::array parts{SamplesPart{samples_}};
    return ordered(parts, options_.views.size());
  }
  [[nodiscard]] const ClassifierOptions& options() const { return options_; }
  // Nothing where the file does not have all of it.
  [[nodiscard]] const std::optional<Calibration>& calibration() const { return calibration_; }

 private:
  void read_tensors(std::size_t dim, const std::string& description) {
    samples_.dim = dim;
    std::string lines = sha256_line(description, kDescriptionKey);
    for (const std::string& view : options_.views) {
      const std::string where = fmt::format("{}: view '{}'", where_, view);
      if (!file_.has(view)) throw data_error(fmt::format("{}: is missing", where));
      const LoadedArray loaded = file_.load(view);
      if (loaded.array.shape.size() != 2 || loaded.array.shape[1] != dim)
        throw data_error(fmt::format("{}: does not have rows of {} features", where, dim));
      lines += sha256_line(loaded.array.data, view);
      FeatureTable table;
      append_rows(loaded.array, where, 0, table);
      samples_.views.push_back(std::move(table.values));
    }
    if (description_.contains(kStatisticsKey)) {
      const std::string where = fmt::format("{}: statistics", where_);
      options_.statistics = std::make_shared<const BackboneStatistics>(statistics_of(
          description_[kStatisticsKey],
          [&](const std::string& array) {
            const std::string name = statistics_tensor(array);
            if (!file_.has(name)) throw data_error(fmt::format("{}: {} is missing", where, array));
            LoadedArray loaded = file_.load(name);
            lines += sha256_line(loaded.array.data, name);
            return loaded;
          },
          where));
    }
    const auto hash = file_.metadata().find(kHashKey);
    if (hash == file_.metadata().end() || hash->second != sha256_hex(lines))
      throw data_error(fmt::format("{}: is damaged: its hash does not match; fit it again", where_),
                       ErrorCode::damaged_file);
  }

  void read_classes(const JsonFields& fields) {
    for (const json& entry : fields.list("classes")) {
      const JsonFields one(entry, fmt::format("{}: class {}", where_, samples_.classes.size()));
      samples_.classes.push_back(one.text("name"));
      for (std::string& name : texts(one, "samples")) {
        samples_.labels.push_back(samples_.classes.size() - 1);
        samples_.names.push_back(std::move(name));
      }
    }
  }

  std::string where_;
  bool is_outdated_ = false;
  SafetensorsFile file_;
  json description_;
  ClassifierOptions options_;
  NamedSamples samples_;
  std::optional<Calibration> calibration_;
};

// What a person gave by mistake, such as a picture, is no damaged classifier.
void check_begins_like_a_classifier(const std::filesystem::path& file) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(file, ignored);
  constexpr std::size_t header = 8;  // its length is before it
  const auto begins_well = [&] {
    const MappedFile mapped(file);
    return mapped.bytes().size() > header && mapped.bytes()[header] == std::byte{'{'};
  };
  if (is_folder || !begins_well())
    throw data_error(fmt::format("{}: {} not a classifier; 'deepvoro fit' makes one from pictures",
                                 file.string(), is_folder ? "is a folder," : "is"),
                     ErrorCode::damaged_file);
}

}  // namespace

void Classifier::save(const std::filesystem::path& file) const {
  const NamedSamples& support = state_->support;
  const bool halves = std::ranges::all_of(support.views, [](const std::vector<float>& view) {
    return std::ranges::all_of(view, fits_half);
  });
  const NumberType type = halves ? NumberType::float16 : NumberType::float32;
  const std::string description = describe(support, state_->options, state_->calibration).dump();
  std::string lines = sha256_line(description, kDescriptionKey);
  std::vector<FloatTensor> tensors;
  for (std::size_t v = 0; v < views().size(); ++v) {
    tensors.push_back({views()[v], {support.labels.size(), support.dim}, support.views[v]});
    lines += hash_of_values(support.views[v], type, views()[v]);
  }
  std::vector<StatisticsArray> arrays;
  if (statistics() != nullptr) arrays = arrays_of(*statistics());
  for (const auto& [array, shape, values] : arrays) {
    tensors.push_back({statistics_tensor(array), shape, values});
    lines += hash_of_values(values, type, statistics_tensor(array));
  }
  write_safetensors(file, {{kDescriptionKey, description}, {kHashKey, sha256_hex(lines)}}, tensors,
                    type);
}

bool Classifier::is_classifier(const std::filesystem::path& file) {
  try {
    const SafetensorsFile read(file);
    const auto description = read.metadata().find(kDescriptionKey);
    return description != read.metadata().end() &&
           parse_json(description->second).value("format", json()) == kFormat;
  } catch (const std::exception&) {
    return false;
  }
}

Classifier Classifier::load(const std::filesystem::path& file) {
  check_begins_like_a_classifier(file);
  const auto no_classifier = [&](const std::string& reason) {
    return data_error(fmt::format("{}; is it a classifier made by 'deepvoro fit'?", reason),
                      ErrorCode::damaged_file);
  };
  std::optional<Reader> reader;
  try {
    reader.emplace(file);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::none) throw;
    throw no_classifier(error.what());
  }
  if (reader->is_outdated())
    throw data_error(
        fmt::format("{}: was fitted by plda with an earlier version of this program, whose "
                    "statistics of networks were others; fit it again",
                    file.string()));
  try {
    return Classifier(std::make_shared<const State>(reader->support(), reader->options(),
                                                    reader->calibration(),
                                                    std::make_shared<NetworkSlot>(), 1));
  } catch (const Error& error) {
    // What does not fit together in a file is not the caller's mistake.
    throw no_classifier(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace deepvoro
