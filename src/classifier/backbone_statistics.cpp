#include "deepvoro/classifier/backbone_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"
#include "features/formats/feature_table.hpp"
#include "features/formats/half.hpp"
#include "features/formats/safetensors_file.hpp"
#include "features/json_fields.hpp"
#include "features/transformed_rows.hpp"
#include "statistics_json.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kStatisticsFormat = "deepvoro-statistics";
constexpr const char* kTextKey = "deepvoro";
constexpr const char* kTextHashKey = "sha256";
constexpr const char* kTensor = "plda";
constexpr std::size_t kStatisticsVersion = 1;

// The base rows of some stores in all their views, mapped.
class JoinedRows {
 public:
  explicit JoinedRows(std::span<const FeatureStore> stores) {
    std::map<std::string, std::size_t> number_of_class;
    for (const FeatureStore& store : stores) {
      if (!store.has_split("base"))
        throw data_error(fmt::format("{}: has no split 'base', from which statistics are made",
                                     store.folder().string()));
      const std::vector<std::size_t> labels = store.labels("base");
      samples_ += labels.size();
      for (const std::string& view : store.views()) {
        views_.push_back(store.features("base", view));
        for (std::size_t row = 0; row < labels.size(); ++row) {
          const std::string& name = store.split("base").classes[labels[row]];
          const std::size_t c = number_of_class.try_emplace(name, by_class_.size()).first->second;
          if (c == by_class_.size()) by_class_.emplace_back();
          by_class_[c].push_back(places_.size());
          places_.push_back({views_.size() - 1, row});
        }
      }
    }
  }

  [[nodiscard]] std::size_t samples() const { return samples_; }
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& by_class() const { return by_class_; }

  [[nodiscard]] bool has_negative() const {
    std::vector<float> row(views_.front().dim());
    return std::ranges::any_of(views_, [&](const FeatureRows& view) {
      for (std::size_t r = 0; r < view.rows(); ++r) {
        view.copy_row(r, row);
        if (std::ranges::any_of(row, [](float value) { return value < 0; })) return true;
      }
      return false;
    });
  }

  // out: padded(dim) elements
  void transformed(std::size_t number, const TransformPlan& plan, const std::string& origin,
                   double* out) const {
    const FeatureRows& view = views_[places_[number].view];
    const std::byte* row = view.row(places_[number].row);
    std::vector<double> scratch(padded(view.dim()));
    const std::vector<float> nothing(padded(view.dim()));
    const double norm = widen(view.element(), row, view.dim(), scratch.data());
    if (!std::isfinite(norm))
      throw data_error(fmt::format("{}: a feature of row {} is not finite; remove or repair it",
                                   origin, places_[number].row));
    if (plan.apply(view.element(), row, view.dim(), norm, nothing.data(), scratch.data(), out) !=
        kernels::RowStatus::ok)
      throw data_error(
          fmt::format("{}: row {} cannot be transformed", origin, places_[number].row));
  }

 private:
  struct Place {
    std::size_t view;
    std::size_t row;
  };
  std::vector<FeatureRows> views_;
  std::vector<Place> places_;
  std::vector<std::vector<std::size_t>> by_class_;
  std::size_t samples_ = 0;
};

double as_half(double value) {
  return static_cast<double>(half_to_float(float_to_half(static_cast<float>(value))));
}

void round_to_half(PldaModel& model) {
  double largest = 0;
  for (const double value : model.axes) largest = std::max(largest, std::abs(value));
  // A power of two, so that nothing but the exponent changes.
  const double scale = std::exp2(-std::ceil(std::log2(largest)));
  for (double& value : model.axes) value = as_half(value * scale);
  for (double& value : model.mean) value = as_half(value);
  // Above the smallest number that is not 0.
  for (double& value : model.psi)
    value = as_half(std::clamp(value, 0x1p-20, static_cast<double>(kLargestHalf)));
}

std::size_t dim_of(const FeatureStore& store) {
  return store.dim(store.views().front());
}

void check_stores(std::span<const FeatureStore> stores) {
  if (stores.empty()) throw usage_error("statistics need at least one feature store");
  const FeatureStore& first = stores.front();
  for (const FeatureStore& store : stores) {
    for (const std::string& view : store.views())
      if (store.dim(view) != dim_of(first))
        throw data_error(fmt::format(
            "{}: view '{}' has features of {} dimensions, but {} has {}; statistics are those of "
            "one network",
            store.folder().string(), view, store.dim(view), first.folder().string(),
            dim_of(first)));
    if (store.model_sha256() != first.model_sha256())
      throw data_error(fmt::format("{}: its features were made by another model than those of {}",
                                   store.folder().string(), first.folder().string()));
  }
}

double in_range(const JsonFields& fields, const Parameter& parameter) {
  const double value = fields.number(parameter.name.data());
  if (!(value >= parameter.least && value <= parameter.most))
    fields.fail(parameter.name.data(),
                fmt::format("is not from {} to {}", parameter.least, parameter.most));
  return value;
}

std::string hash_of_statistics(const std::string& description, std::span<const std::byte> values) {
  return sha256_hex(sha256_line(description, kTextKey) + sha256_line(values, kTensor));
}

}  // namespace

ordered_json describe(const BackboneStatistics& statistics) {
  const Transform& transform = statistics.transform;
  return {{"format", kStatisticsFormat},
          {"version", kStatisticsVersion},
          {"dim", statistics.dim()},
          {"network", statistics.network_sha256},
          {"w", transform.w},
          {"b", transform.b},
          {"lambda", transform.lambda},
          {"signed", transform.is_signed},
          {"shrink_within", statistics.plda.shrink_within},
          {"shrink_between", statistics.plda.shrink_between},
          {"kappa", statistics.plda.kappa},
          {"classes", statistics.classes},
          {"samples", statistics.samples},
          {"views", statistics.views}};
}

std::vector<float> packed(const BackboneStatistics& statistics) {
  std::vector<float> values;
  for (const std::vector<double>* part :
       {&statistics.model.mean, &statistics.model.psi, &statistics.model.axes})
    for (const double value : *part) values.push_back(static_cast<float>(value));
  return values;
}

BackboneStatistics statistics_of(const json& description, const NumberArray& array,
                                 const std::string& where) {
  const JsonFields fields(description, where);
  if (fields.text("format") != kStatisticsFormat)
    fields.fail("format", fmt::format("must be \"{}\"", kStatisticsFormat));
  if (fields.whole("version", 0) != kStatisticsVersion)
    fields.fail("version",
                fmt::format("must be {}, the only one this program reads", kStatisticsVersion));
  const std::size_t dim = fields.whole("dim", 1);
  if (array.shape.size() != 2 || array.shape[1] != dim || array.shape[0] != dim + 2)
    throw data_error(fmt::format("{}: has an array of shape {}, where that of {} dimensions is {}",
                                 where, shape_text(array.shape), dim,
                                 shape_text(std::vector<std::uint64_t>{dim + 2, dim})));
  FeatureTable table;
  append_rows(array, where, 0, table);
  BackboneStatistics statistics{
      .transform = {fields.number("w"), fields.number("b"), fields.number("lambda"),
                    fields.flag("signed")},
      .plda = {in_range(fields, Plda::kParameters[0]), in_range(fields, Plda::kParameters[1]),
               in_range(fields, Plda::kParameters[2])},
      .model = {},
      .network_sha256 = fields.text("network"),
      .classes = fields.whole("classes", 2),
      .samples = fields.whole("samples", 2),
      .views = {}};
  for (const json& view : fields.list("views")) {
    if (!view.is_string()) fields.fail("views", "must be a list of strings");
    statistics.views.push_back(view);
  }
  const std::span<const float> values = table.values;
  const auto part = [&](std::size_t begin, std::size_t count) {
    const auto from = values.subspan(begin, count);
    return std::vector<double>(from.begin(), from.end());
  };
  statistics.model = {part(0, dim), part(dim, dim), part(2 * dim, dim * dim)};
  if (std::ranges::any_of(statistics.model.psi, [](double psi) { return !(psi > 0); }))
    throw data_error(fmt::format("{}: has a variance between classes that is not above 0", where));
  return statistics;
}

Pool BackboneStatistics::pool(std::span<const std::string> of_views) const {
  Pool members;
  for (const std::string& view : of_views) members.push_back({view, transform, plda});
  return members;
}

bool BackboneStatistics::fits(const Member& member) const {
  return member.transform == transform && member.geometry == Geometry(plda);
}

BackboneStatistics BackboneStatistics::of(std::span<const FeatureStore> stores, const Plda& plda) {
  check_stores(stores);
  const JoinedRows rows(stores);
  BackboneStatistics statistics{.plda = plda,
                                .model = {},
                                .network_sha256 = stores.front().model_sha256(),
                                .classes = rows.by_class().size(),
                                .samples = rows.samples(),
                                .views = {}};
  std::set<std::string> views;
  std::string origin;
  for (const FeatureStore& store : stores) {
    views.insert(store.views().begin(), store.views().end());
    origin += (origin.empty() ? "" : ", ") + store.folder().string();
  }
  origin += ": split base";
  statistics.views.assign(views.begin(), views.end());
  statistics.transform.is_signed = rows.has_negative();
  const TransformPlan plan(statistics.transform);
  statistics.model = plda.model(
      {.dim = dim_of(stores.front()),
       .by_class = rows.by_class(),
       .read = [&](std::size_t row, double* out) { rows.transformed(row, plan, origin, out); },
       .origin = origin});
  round_to_half(statistics.model);
  return statistics;
}

void BackboneStatistics::save(const std::filesystem::path& file) const {
  const std::string description = describe(*this).dump();
  const std::vector<float> values = packed(*this);
  std::vector<std::uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), float_to_half);
  write_safetensors(
      file,
      {{kTextKey, description},
       {kTextHashKey, hash_of_statistics(description, std::as_bytes(std::span(halves)))}},
      {{kTensor, {dim() + 2, dim()}, values}}, NumberType::float16);
}

BackboneStatistics BackboneStatistics::load(const std::filesystem::path& path) {
  const std::string where = path.string();
  const SafetensorsFile file(path);
  const auto& metadata = file.metadata();
  const auto description = metadata.find(kTextKey);
  const auto hash = metadata.find(kTextHashKey);
  if (description == metadata.end() || hash == metadata.end() || !file.has(kTensor))
    throw data_error(fmt::format(
        "{}: is a .safetensors file of another kind, not statistics of a backbone", where));
  const LoadedArray loaded = file.load(kTensor);
  if (hash->second != hash_of_statistics(description->second, loaded.array.data))
    throw data_error(fmt::format("{}: is damaged: its hash does not match; make it again with "
                                 "'deepvoro backbone statistics'",
                                 where),
                     ErrorCode::damaged_file);
  if (loaded.array.type != NumberType::float16)
    throw data_error(fmt::format("{}: its numbers are not of float16", where));
  return statistics_of(parse_json(description->second), loaded.array, where);
}

BackboneStatistics write_statistics(const std::filesystem::path& model,
                                    std::span<const FeatureStore> stores, const Plda& plda) {
  const std::string sha256 = sha256_hex(MappedFile(model).bytes());
  { const AtomicFile shows_early_whether_it_can_be_written(statistics_file(model)); }
  for (const FeatureStore& store : stores)
    if (const std::string made_by = store.model_sha256(); !made_by.empty() && made_by != sha256)
      throw data_error(fmt::format("{}: its features were made by another model than {}",
                                   store.folder().string(), model.string()));
  BackboneStatistics statistics = BackboneStatistics::of(stores, plda);
  statistics.network_sha256 = sha256;
  statistics.save(statistics_file(model));
  return statistics;
}

std::filesystem::path statistics_file(const std::filesystem::path& model) {
  return std::filesystem::path(model).replace_extension(".statistics");
}

}  // namespace deepvoro
