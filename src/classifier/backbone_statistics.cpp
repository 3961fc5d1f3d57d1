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
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"
#include "features/formats/feature_table.hpp"
#include "features/formats/half.hpp"
#include "features/formats/safetensors_file.hpp"
#include "features/json_fields.hpp"
#include "features/representation.hpp"
#include "features/transformed_rows.hpp"
#include "measured_temperature.hpp"
#include "statistics_json.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kStatisticsFormat = "deepvoro-statistics";
constexpr const char* kTextKey = "deepvoro";
constexpr const char* kTextHashKey = "sha256";
constexpr const char* kPldaArray = "plda";
constexpr const char* kStatisticsEnding = ".statistics";
constexpr std::size_t kStatisticsVersion = 2;

std::string points_array(double exponent) {
  return fmt::format("points-{}", exponent);
}

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
      const std::size_t first_view = views_.size();
      for (const std::string& view : store.views()) views_.push_back(store.features("base", view));
      std::vector<std::size_t> classes(labels.size());
      for (std::size_t row = 0; row < labels.size(); ++row) {
        const std::string& name = store.split("base").classes[labels[row]];
        classes[row] = number_of_class.try_emplace(name, number_of_class.size()).first->second;
        samples_by_class_.resize(number_of_class.size());
        samples_by_class_[classes[row]].push_back(samples_.size());
        samples_.push_back({first_view, views_.size(), row});
      }
      rows_by_class_.resize(number_of_class.size());
      for (std::size_t view = first_view; view < views_.size(); ++view)
        for (std::size_t row = 0; row < labels.size(); ++row) {
          rows_by_class_[classes[row]].push_back(places_.size());
          places_.push_back({view, row});
        }
    }
  }

  using ByClass = std::vector<std::vector<std::size_t>>;
  [[nodiscard]] std::size_t samples() const { return samples_.size(); }
  [[nodiscard]] const ByClass& samples_by_class() const { return samples_by_class_; }
  [[nodiscard]] const ByClass& rows_by_class() const { return rows_by_class_; }

  // The point of a sample; out: padded(dim) elements
  void represented(std::size_t number, const Representation& representation,
                   const std::string& origin, double* out) const {
    const Sample& sample = samples_[number];
    std::vector<Representation::Row> rows;
    for (std::size_t view = sample.first_view; view < sample.end_view; ++view)
      rows.push_back({views_[view].element(), views_[view].row(sample.row)});
    try {
      representation.of(rows, views_.front().dim(), out);
    } catch (const Error& error) {
      throw data_error(fmt::format("{}: row {}: {}", origin, sample.row, error.what()));
    }
  }

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
  struct Sample {
    std::size_t first_view;
    std::size_t end_view;
    std::size_t row;
  };
  std::vector<FeatureRows> views_;
  std::vector<Place> places_;
  std::vector<Sample> samples_;
  ByClass rows_by_class_;
  ByClass samples_by_class_;
};

double as_half(double value) {
  return static_cast<double>(half_to_float(float_to_half(static_cast<float>(value))));
}

void round_to_half(std::vector<double>& values) {
  std::ranges::transform(values, values.begin(), as_half);
}

void round_to_half(PldaModel& model) {
  double largest = 0;
  for (const double value : model.axes) largest = std::max(largest, std::abs(value));
  // A power of two, so that nothing but the exponent changes.
  const double scale = std::exp2(-std::ceil(std::log2(largest)));
  for (double& value : model.axes) value = as_half(value * scale);
  round_to_half(model.mean);
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

std::vector<double> part_of(std::span<const float> values, std::size_t begin, std::size_t count) {
  const auto part = values.subspan(begin, count);
  return {part.begin(), part.end()};
}

// The numbers of an array that has this shape.
std::vector<float> numbers_of(const NumberArray& array, std::size_t rows, std::size_t cols,
                              const std::string& where) {
  const std::vector<std::uint64_t> shape{rows, cols};
  if (array.shape != shape)
    throw data_error(fmt::format("{}: has an array of shape {}, where it must be {}", where,
                                 shape_text(array.shape), shape_text(shape)));
  FeatureTable table;
  append_rows(array, where, 0, table);
  return std::move(table.values);
}

SpaceStatistics space_of(const JsonFields& fields, std::size_t dim, const ArrayReader& read,
                         const std::string& where) {
  SpaceStatistics space;
  for (const json& value : fields.list("shrinkage")) {
    if (!value.is_number() || !(value >= 0 && value <= 1))
      fields.fail("shrinkage", "must be a list of numbers from 0 to 1");
    space.shrinkage.push_back(value);
  }
  const std::size_t directions = space.shrinkage.size();
  if (directions > dim) fields.fail("shrinkage", "has more numbers than there are dimensions");
  const std::string name = points_array(fields.number("exponent"));
  const std::vector<float> numbers =
      numbers_of(read(name).array, directions + 1, dim, fmt::format("{}: {}", where, name));
  space.mean = part_of(numbers, 0, dim);
  space.directions = part_of(numbers, dim, directions * dim);
  return space;
}

PldaStatistics plda_of(const JsonFields& fields, std::size_t dim, const ArrayReader& read,
                       const std::string& where) {
  PldaStatistics statistics{
      .transform = {fields.number("w"), fields.number("b"), fields.number("lambda"),
                    fields.flag("signed")},
      .plda = {in_range(fields, Plda::kParameters[0]), in_range(fields, Plda::kParameters[1]),
               in_range(fields, Plda::kParameters[2])},
      .model = {}};
  const std::vector<float> numbers =
      numbers_of(read(kPldaArray).array, dim + 2, dim, fmt::format("{}: {}", where, kPldaArray));
  statistics.model = {part_of(numbers, 0, dim), part_of(numbers, dim, dim),
                      part_of(numbers, 2 * dim, dim * dim)};
  if (std::ranges::any_of(statistics.model.psi, [](double psi) { return !(psi > 0); }))
    throw data_error(fmt::format("{}: has a variance between classes that is not above 0", where));
  return statistics;
}

ordered_json describe(const PldaStatistics& statistics) {
  const Transform& transform = statistics.transform;
  return {{"w", transform.w},
          {"b", transform.b},
          {"lambda", transform.lambda},
          {"signed", transform.is_signed},
          {"shrink_within", statistics.plda.shrink_within},
          {"shrink_between", statistics.plda.shrink_between},
          {"kappa", statistics.plda.kappa}};
}

SpaceStatistics space_of(const JoinedRows& rows, std::size_t dim, double exponent,
                         const std::string& origin) {
  const Representation representation(exponent);
  SpaceStatistics space = SpaceStatistics::of(
      {.dim = dim,
       .by_class = rows.samples_by_class(),
       .read = [&](std::size_t sample,
                   double* out) { rows.represented(sample, representation, origin, out); },
       .origin = origin});
  round_to_half(space.mean);
  round_to_half(space.directions);
  return space;
}

PldaStatistics plda_of(const JoinedRows& rows, std::size_t dim, const Plda& plda,
                       const std::string& origin) {
  PldaStatistics statistics{.plda = plda, .model = {}};
  statistics.transform.is_signed = rows.has_negative();
  const TransformPlan plan(statistics.transform);
  statistics.model = plda.model(
      {.dim = dim,
       .by_class = rows.rows_by_class(),
       .read = [&](std::size_t row, double* out) { rows.transformed(row, plan, origin, out); },
       .origin = origin});
  round_to_half(statistics.model);
  return statistics;
}

// What a file says of itself.
json description_of(const SafetensorsFile& file) {
  const auto found = file.metadata().find(kTextKey);
  json description;
  if (found != file.metadata().end()) description = parse_json(found->second);
  if (!description.is_object() || description.value("format", json()) != kStatisticsFormat)
    throw data_error(fmt::format(
        "{}: is a .safetensors file of another kind, not statistics of a backbone", file.where()));
  return description;
}

bool is_of_network(const std::filesystem::path& file, const std::string& sha256) {
  return description_of(SafetensorsFile(file)).value("network", json()) == sha256;
}

}  // namespace

ordered_json describe(const BackboneStatistics& statistics) {
  ordered_json spaces = ordered_json::array();
  for (std::size_t e = 0; e < kPointExponents.size(); ++e)
    spaces.push_back(
        {{"exponent", kPointExponents[e]}, {"shrinkage", statistics.spaces[e].shrinkage}});
  ordered_json description{{"format", kStatisticsFormat},
                           {"version", kStatisticsVersion},
                           {"dim", statistics.dim()},
                           {"network", statistics.network_sha256},
                           {"spaces", spaces},
                           {"temperature", statistics.temperature},
                           {"classes", statistics.classes},
                           {"samples", statistics.samples},
                           {"views", statistics.views}};
  if (statistics.plda) description["plda"] = describe(*statistics.plda);
  return description;
}

std::vector<StatisticsArray> arrays_of(const BackboneStatistics& statistics) {
  const std::size_t dim = statistics.dim();
  std::vector<StatisticsArray> arrays;
  const auto add = [&](std::string name, std::size_t rows,
                       std::initializer_list<const std::vector<double>*> parts) {
    std::vector<float> values;
    for (const std::vector<double>* part : parts)
      for (const double value : *part) values.push_back(static_cast<float>(value));
    arrays.push_back({std::move(name), {rows, dim}, std::move(values)});
  };
  for (std::size_t e = 0; e < kPointExponents.size(); ++e) {
    const SpaceStatistics& space = statistics.spaces[e];
    add(points_array(kPointExponents[e]), space.shrinkage.size() + 1,
        {&space.mean, &space.directions});
  }
  if (statistics.plda) {
    const PldaModel& model = statistics.plda->model;
    add(kPldaArray, dim + 2, {&model.mean, &model.psi, &model.axes});
  }
  return arrays;
}

BackboneStatistics statistics_of(const json& description, const ArrayReader& read,
                                 const std::string& where) {
  const JsonFields fields(description, where);
  if (fields.text("format") != kStatisticsFormat)
    fields.fail("format", fmt::format("must be \"{}\"", kStatisticsFormat));
  if (fields.whole("version", 0) != kStatisticsVersion)
    fields.fail("version", fmt::format("must be {}, the only one this program reads; make them "
                                       "again with 'deepvoro backbone statistics'",
                                       kStatisticsVersion));
  const std::size_t dim = fields.whole("dim", 1);
  BackboneStatistics statistics{.spaces = {},
                                .network_sha256 = fields.text("network"),
                                .classes = fields.whole("classes", 1),
                                .samples = fields.whole("samples", 2),
                                .views = {}};
  const json& spaces = fields.list("spaces");
  if (spaces.size() != kPointExponents.size())
    fields.fail("spaces", fmt::format("must have {} entries", kPointExponents.size()));
  for (std::size_t e = 0; e < kPointExponents.size(); ++e) {
    const JsonFields one(spaces[e], fmt::format("{}: space {}", where, e));
    if (one.number("exponent") != kPointExponents[e])
      one.fail("exponent", fmt::format("must be {}", kPointExponents[e]));
    statistics.spaces[e] = space_of(one, dim, read, where);
  }
  statistics.temperature = fields.number("temperature");
  if (!(statistics.temperature > 0)) fields.fail("temperature", "must be above 0");
  const json views = description.value("views", json());
  if (!views.is_array()) fields.fail("views", "is not a list");
  for (const json& view : views) {
    if (!view.is_string()) fields.fail("views", "must be a list of strings");
    statistics.views.push_back(view);
  }
  if (fields.has("plda")) statistics.plda = plda_of(fields.object("plda"), dim, read, where);
  return statistics;
}

Pool PldaStatistics::pool(std::span<const std::string> of_views) const {
  Pool members;
  for (const std::string& view : of_views) members.push_back({view, transform, plda});
  return members;
}

BackboneStatistics BackboneStatistics::of(std::span<const FeatureStore> stores,
                                          const std::optional<Plda>& plda) {
  check_stores(stores);
  const JoinedRows rows(stores);
  std::set<std::string> views;
  std::string origin;
  for (const FeatureStore& store : stores) {
    views.insert(store.views().begin(), store.views().end());
    origin += (origin.empty() ? "" : ", ") + store.folder().string();
  }
  origin += ": split base";
  const std::size_t dim = dim_of(stores.front());
  BackboneStatistics statistics{.spaces = {},
                                .network_sha256 = stores.front().model_sha256(),
                                .classes = rows.samples_by_class().size(),
                                .samples = rows.samples(),
                                .views = {views.begin(), views.end()}};
  for (std::size_t e = 0; e < kPointExponents.size(); ++e)
    statistics.spaces[e] = space_of(rows, dim, kPointExponents[e], origin);
  const Representation usual(kPointExponents.front());
  statistics.temperature = measured_temperature(
      {.dim = dim,
       .by_class = rows.samples_by_class(),
       .read = [&](std::size_t sample,
                   double* out) { rows.represented(sample, usual, origin, out); }},
      statistics);
  if (plda) statistics.plda = plda_of(rows, dim, *plda, origin);
  return statistics;
}

void BackboneStatistics::save(const std::filesystem::path& file) const {
  const std::string description = describe(*this).dump();
  std::string lines = sha256_line(description, kTextKey);
  const std::vector<StatisticsArray> arrays = arrays_of(*this);
  std::vector<FloatTensor> tensors;
  for (const auto& [name, shape, values] : arrays) {
    std::vector<std::uint16_t> halves(values.size());
    std::ranges::transform(values, halves.begin(), float_to_half);
    lines += sha256_line(std::as_bytes(std::span(halves)), name);
    tensors.push_back({name, shape, values});
  }
  write_safetensors(file, {{kTextKey, description}, {kTextHashKey, sha256_hex(lines)}}, tensors,
                    NumberType::float16);
}

BackboneStatistics BackboneStatistics::load(const std::filesystem::path& path) {
  const std::string where = path.string();
  const SafetensorsFile file(path);
  const json description = description_of(file);
  std::string lines = sha256_line(file.metadata().at(kTextKey), kTextKey);
  BackboneStatistics statistics = statistics_of(
      description,
      [&](const std::string& name) {
        if (!file.has(name)) throw data_error(fmt::format("{}: has no array '{}'", where, name));
        LoadedArray loaded = file.load(name);
        if (loaded.array.type != NumberType::float16)
          throw data_error(fmt::format("{}: its numbers are not of float16", where));
        lines += sha256_line(loaded.array.data, name);
        return loaded;
      },
      where);
  const auto hash = file.metadata().find(kTextHashKey);
  if (hash == file.metadata().end() || hash->second != sha256_hex(lines))
    throw data_error(fmt::format("{}: is damaged: its hash does not match; make it again with "
                                 "'deepvoro backbone statistics'",
                                 where),
                     ErrorCode::damaged_file);
  return statistics;
}

BackboneStatistics write_statistics(const std::filesystem::path& model,
                                    std::span<const FeatureStore> stores,
                                    const std::optional<Plda>& plda) {
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
  return std::filesystem::path(model).replace_extension(kStatisticsEnding);
}

std::shared_ptr<const BackboneStatistics> statistics_of_network(
    const std::string& sha256, const std::filesystem::path& model) {
  std::vector<std::filesystem::path> files;
  std::error_code absent;
  if (const auto beside = statistics_file(model);
      !model.empty() && std::filesystem::exists(beside, absent))
    files.push_back(beside);
  for (const std::filesystem::path& folder : backbone_folders()) {
    std::set<std::filesystem::path> sorted;
    for (const auto& entry : std::filesystem::directory_iterator(folder, absent))
      if (entry.path().extension() == kStatisticsEnding) sorted.insert(entry.path());
    files.insert(files.end(), sorted.begin(), sorted.end());
  }
  const auto found = std::ranges::find_if(
      files, [&](const auto& file) { return !sha256.empty() && is_of_network(file, sha256); });
  if (found == files.end()) return nullptr;
  return std::make_shared<const BackboneStatistics>(BackboneStatistics::load(*found));
}

}  // namespace deepvoro
