#include "study/tuning_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "ensemble/engine.hpp"
#include "features/json_fields.hpp"
#include "plan_json.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Transformations that are taken, as far as there are so many.
std::size_t default_top_k(Method method) {
  if (method == Method::vd) return 1;
  if (method == Method::plda) return std::numeric_limits<std::size_t>::max();
  return method == Method::deepvoro ? 8 : 2;
}

template <class T>
void check_values(const char* flag, const std::vector<T>& values) {
  if (values.empty()) throw usage_error(fmt::format("{} needs at least one value", flag));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::ranges::count(values, values[i]) > 1)
      throw usage_error(fmt::format("{}: {} is given twice", flag, values[i]));
}

void check_range(const char* flag, const std::vector<double>& values, double least, double most) {
  check_values(flag, values);
  for (const double value : values)
    if (!(value >= least && value <= most))
      throw usage_error(
          fmt::format("{}: {} is not a number from {} to {}", flag, value, least, most));
}

template <class T>
std::vector<T> ascending(std::vector<T> values) {
  std::ranges::sort(values);
  return values;
}

void check_store(const FeatureStore& store, const Tuning& request) {
  if (!store.has_split(kTuningSplit))
    throw data_error(fmt::format("{}: has no split 'val', which tuning chooses on; add it",
                                 store.folder().string()));
  for (const std::string& view : request.views)
    if (!store.has_view(view))
      throw data_error(fmt::format("`views`: {} has no view '{}'; it has {}",
                                   store.folder().string(), view, fmt::join(store.views(), ", ")));
  Pool sample{{request.views.front(), {}, Voronoi{}}};
  if (request.method == Method::deepvoro_plus_plus) sample.front().geometry = Surrogate{};
  if (request.method == Method::plda) sample.front().geometry = Plda{};
  check_members(store, kTuningSplit, sample, std::string("method ") + name(request.method));
}

bool has_several_views(const FeatureStore& store, std::string_view network) {
  return std::ranges::count(store.views(), network,
                            [](const auto& view) { return network_of(view); }) > 1;
}

template <class T>
std::vector<T> numbers_of(const JsonFields& fields, const char* key) {
  std::vector<T> numbers;
  for (const json& number : fields.list(key)) {
    if (!(std::is_integral_v<T> ? number.is_number_unsigned() : number.is_number()))
      fields.fail(key, "is not a list of numbers");
    numbers.push_back(number);
  }
  return numbers;
}

Tuning unchecked_tuning(const JsonFields& fields) {
  Tuning request{.method = method_named(fields.text("method")),
                 .plan = plan_of(fields),
                 .is_signed = fields.flag("signed")};
  for (const json& view : fields.list("views")) {
    if (!view.is_string()) fields.fail("views", "is not a list of names");
    request.views.push_back(view);
  }
  const JsonFields grid = fields.object("grid");
  request.grid.lambdas = numbers_of<double>(grid, "lambdas");
  request.grid.biases = numbers_of<double>(grid, "biases");
  if (request.method == Method::deepvoro_plus_plus) {
    request.grid.neighbours = numbers_of<std::size_t>(grid, "neighbours");
    request.grid.betas = numbers_of<double>(grid, "betas");
  }
  if (request.method == Method::plda) {
    request.grid.shrink_within = numbers_of<double>(grid, "shrink_within");
    request.grid.shrink_between = numbers_of<double>(grid, "shrink_between");
    request.grid.kappas = numbers_of<double>(grid, "kappas");
  } else {
    request.top_k = fields.whole("top_k", 1);
  }
  return request;
}

}  // namespace

std::vector<Transform> transforms_of(const Tuning& request) {
  std::vector<Transform> transforms;
  const auto add = [&](double b, double lambda) {
    transforms.push_back({.b = b, .lambda = lambda, .is_signed = request.is_signed});
  };
  for (const double lambda : request.grid.lambdas)
    if (lambda == 0)
      for (const double b : request.grid.biases) add(b, 0);
    else
      add(0, lambda);
  return transforms;
}

std::vector<Plda> pldas_of(const Tuning& request) {
  std::vector<Plda> pldas;
  if (request.method == Method::plda)
    for (const double within : request.grid.shrink_within)
      for (const double between : request.grid.shrink_between)
        for (const double kappa : request.grid.kappas) pldas.push_back({within, between, kappa});
  return pldas;
}

std::vector<Surrogate> surrogates_of(const Tuning& request) {
  std::vector<Surrogate> surrogates;
  if (request.method == Method::deepvoro_plus_plus)
    for (const std::size_t R : request.grid.neighbours)
      for (const double beta : request.grid.betas) surrogates.push_back({.R = R, .beta = beta});
  return surrogates;
}

std::vector<std::string> networks_of(const std::vector<std::string>& views) {
  std::vector<std::string> networks;
  for (const std::string& view : views)
    if (std::ranges::find(networks, network_of(view)) == networks.end())
      networks.emplace_back(network_of(view));
  return networks;
}

std::size_t top_k_of(const Tuning& request) {
  return request.top_k.value_or(
      std::min(default_top_k(request.method), transforms_of(request).size()));
}

Tuning completed(const FeatureStore& store, Tuning request) {
  check(request);
  TuningGrid& grid = request.grid;
  grid.lambdas = ascending(grid.lambdas);
  grid.biases = ascending(grid.biases);
  grid.neighbours = ascending(grid.neighbours);
  grid.betas = ascending(grid.betas);
  grid.shrink_within = ascending(grid.shrink_within);
  grid.shrink_between = ascending(grid.shrink_between);
  grid.kappas = ascending(grid.kappas);
  if (request.views.empty() && request.method == Method::vd)
    request.views = {store.views().front()};
  if (request.views.empty()) {
    request.views = store.views();
    if (request.method == Method::plda)
      for (const std::string& network : store.networks())
        if (has_several_views(store, network))  // or the mean would be the view
          request.views.push_back(view_of(network, kMeanView));
  }
  check_store(store, request);
  return request;
}

ordered_json described(const Tuning& request, const std::string& store_sha256) {
  ordered_json grid = {{"lambdas", request.grid.lambdas}, {"biases", request.grid.biases}};
  if (request.method == Method::deepvoro_plus_plus) {
    grid["neighbours"] = request.grid.neighbours;
    grid["betas"] = request.grid.betas;
  }
  if (request.method == Method::plda) {
    grid["shrink_within"] = request.grid.shrink_within;
    grid["shrink_between"] = request.grid.shrink_between;
    grid["kappas"] = request.grid.kappas;
  }
  ordered_json object = {{"method", name(request.method)}, {"split", kTuningSplit}};
  add_plan(object, request.plan);
  object["views"] = request.views;
  object["signed"] = request.is_signed;
  object["top_k"] = top_k_of(request);
  object["grid"] = grid;
  object["store"] = {{"sha256", store_sha256}};
  object["program"] = {{"version", version()}, {"commit", commit()}};
  return object;
}

Tuning tuning_of(const json& description, const std::string& where) {
  try {
    Tuning request = unchecked_tuning(JsonFields(description, where));
    check(request);
    return request;
  } catch (const Error& error) {
    // What a file says was not typed by whoever runs this.
    if (error.kind() != ErrorKind::usage) throw;
    throw data_error(fmt::format("{}: {}", where, error.what()));
  }
}

TuningGrid default_grid(Method method) {
  TuningGrid grid;
  if (method == Method::plda) {
    grid.lambdas = {0, 0.5, 1};
    grid.biases = {0.02, 0.1};
  }
  return grid;
}

void check(const Tuning& request) {
  constexpr double largest_lambda = 8;
  constexpr double largest_bias = 1e9;
  constexpr double largest_beta = 1e9;
  const TuningGrid& grid = request.grid;
  if (request.threads < 1) throw usage_error("`threads` must be at least 1");
  if (request.method == Method::vd && (request.views.size() > 1 || request.top_k.value_or(1) != 1))
    throw usage_error("`method` vd has one member: give one of `views`, and no `top_k`");
  if (!is_ensemble(request.method))
    throw usage_error(
        fmt::format("`method` {}: cannot be tuned; use vd, deepvoro, deepvoro++ or plda",
                    name(request.method)));
  if (request.method == Method::plda && request.top_k)
    throw usage_error("`method` plda takes all transformations: give other `lambdas`, not `top_k`");
  if (!request.views.empty()) check_values("`views`", request.views);
  check_range("`lambdas`", grid.lambdas, -largest_lambda, largest_lambda);
  check_range("`biases`", grid.biases, -largest_bias, largest_bias);
  check_range("`betas`", grid.betas, 0, largest_beta);
  check_range("`shrink_within`", grid.shrink_within, 0, 1);
  check_range("`shrink_between`", grid.shrink_between, 0, 1);
  check_range("`kappas`", grid.kappas, Plda::kParameters[2].least, Plda::kParameters[2].most);
  check_values("`neighbours`", grid.neighbours);
  if (std::ranges::count(grid.neighbours, std::size_t{0}) > 0)
    throw usage_error("`neighbours`: 0 is not a number of neighbours; they begin at 1");
  const std::size_t transforms = transforms_of(request).size();
  if (request.top_k && (*request.top_k < 1 || *request.top_k > transforms))
    throw usage_error(fmt::format("`top_k` {}: must be from 1 to {}, the transformations tried",
                                  *request.top_k, transforms));
}

}  // namespace deepvoro
