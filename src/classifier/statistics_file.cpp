#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/classifier/backbone_statistics.hpp"
#include "deepvoro/core/error.hpp"
#include "features/formats/feature_table.hpp"
#include "features/formats/half.hpp"
#include "features/formats/safetensors_file.hpp"
#include "features/json_fields.hpp"
#include "statistics_json.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kStatisticsFormat = "deepvoro-statistics";
constexpr const char* kTextKey = "deepvoro";
constexpr const char* kTextHashKey = "sha256";
constexpr const char* kPldaArray = "plda";
constexpr const char* kDeviationKey = "likeness_deviation";
constexpr const char* kStatisticsEnding = ".statistics";
constexpr std::size_t kStatisticsVersion = 3;
// Has a temperature besides.
constexpr std::size_t kSecondStatisticsVersion = 2;

std::string points_array(double exponent) {
  return fmt::format("points-{}", exponent);
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
  for (std::size_t e = 0; e < kPointExponents.size(); ++e) {
    spaces.push_back(
        {{"exponent", kPointExponents[e]}, {"shrinkage", statistics.spaces[e].shrinkage}});
    if (const auto& deviation = statistics.likeness_deviations[e])
      spaces.back()[kDeviationKey] = *deviation;
  }
  ordered_json description{{"format", kStatisticsFormat},
                           {"version", kStatisticsVersion},
                           {"dim", statistics.dim()},
                           {"network", statistics.network_sha256},
                           {"spaces", spaces},
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
  if (const std::size_t version = fields.whole("version", 0);
      version != kStatisticsVersion && version != kSecondStatisticsVersion)
    fields.fail("version",
                fmt::format("must be {} or {}, which this program reads; make them again "
                            "with 'deepvoro backbone statistics'",
                            kSecondStatisticsVersion, kStatisticsVersion));
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
    if (!one.has(kDeviationKey)) continue;
    statistics.likeness_deviations[e] = one.number(kDeviationKey);
    if (!(*statistics.likeness_deviations[e] > 0)) one.fail(kDeviationKey, "must be above 0");
  }
  const json views = description.value("views", json());
  if (!views.is_array()) fields.fail("views", "is not a list");
  for (const json& view : views) {
    if (!view.is_string()) fields.fail("views", "must be a list of strings");
    statistics.views.push_back(view);
  }
  if (fields.has("plda")) statistics.plda = plda_of(fields.object("plda"), dim, read, where);
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
