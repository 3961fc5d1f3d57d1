#include "deepvoro/study/tune.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <utility>

#include "core/companion_name.hpp"
#include "core/files.hpp"
#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "ensemble/ensemble.hpp"
#include "ensemble/influence_field.hpp"
#include "ensemble/pool_json.hpp"
#include "plan_json.hpp"
#include "step_log.hpp"

namespace deepvoro {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSplit = "val";
using Counts = StepLog::Step;

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

void check_store(const FeatureStore& store, const Tuning& request) {
  if (!store.has_split(kSplit))
    throw data_error(fmt::format("{}: has no split 'val', which tuning chooses on; add it",
                                 store.folder().string()));
  for (const std::string& view : request.views)
    if (!store.has_view(view))
      throw data_error(fmt::format("`views`: {} has no view '{}'; it has {}",
                                   store.folder().string(), view, fmt::join(store.views(), ", ")));
  Pool sample{{request.views.front(), {}, Voronoi{}}};
  if (request.method == Method::deepvoro_plus_plus) sample.front().geometry = Surrogate{};
  if (request.method == Method::plda) sample.front().geometry = Plda{};
  check_members(store, kSplit, sample, std::string("method ") + name(request.method));
}

bool has_several_views(const FeatureStore& store, std::string_view network) {
  return std::ranges::count(store.views(), network,
                            [](const auto& view) { return network_of(view); }) > 1;
}

// Values in ascending order, so that ties go to the smaller one.
Tuning normalised(const FeatureStore& store, Tuning request) {
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

// Everything the result depends on but where the store lies.
ordered_json described(const Tuning& request, std::size_t top_k, const std::string& store_sha256) {
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
  ordered_json object = {{"method", name(request.method)}, {"split", kSplit}};
  add_plan(object, request.plan);
  object["views"] = request.views;
  object["signed"] = request.is_signed;
  object["top_k"] = top_k;
  object["grid"] = grid;
  object["store"] = {{"sha256", store_sha256}};
  object["program"] = {{"version", version()}, {"commit", commit()}};
  return object;
}

std::filesystem::path log_file(const std::filesystem::path& out) {
  std::error_code ignored;
  if (std::filesystem::exists(out, ignored) && !std::filesystem::is_regular_file(out, ignored))
    throw usage_error(fmt::format(
        "`out` {}: is not a regular file, next to which a checkpoint could be kept", out.string()));
  return companion_name(out, ".partial");
}

// Runs through the steps of a tuning, one for each view and stage. A step is the number of correct
// queries of each of its members: whole numbers, so that neither threads nor an interruption can
// change a choice.
class Tuner {
 public:
  Tuner(const FeatureStore& store, const Tuning& request, std::filesystem::path out,
        Progress progress);

  TuningResult run();

 private:
  [[nodiscard]] Plda choose_plda(TuningResult& result, const std::string& network);
  void rank_transforms(TuningResult& result);
  void choose_surrogates(TuningResult& result);
  void write(const TuningResult& result) const;

  [[nodiscard]] Counts correct(const Pool& members, std::size_t passes);
  [[nodiscard]] double percent(std::uint64_t correct, std::size_t members = 1) const {
    return percent_of_queries(correct, request_.plan.shape, members * request_.plan.count);
  }
  void add_member(TuningResult& result, Member member, std::uint64_t correct) const {
    result.members.push_back(std::move(member));
    result.member_val_accuracy.push_back(percent(correct));
  }

  // Measured: a pass over the rows costs as much as looking at this many members.
  [[nodiscard]] static double cost(std::size_t members, std::size_t passes) {
    constexpr double members_per_pass = 10;
    return static_cast<double>(members) + members_per_pass * static_cast<double>(passes);
  }

  const FeatureStore& store_;
  Tuning request_;
  std::filesystem::path out_;
  Progress progress_;
  std::vector<Transform> transforms_;
  std::vector<Surrogate> surrogates_;
  std::vector<Plda> pldas_;
  std::vector<std::string> networks_;  // of the views
  std::vector<Geometry> geometries_;   // of the networks, before surrogates are chosen
  std::size_t top_k_;
  EpisodeList episodes_;
  EpisodeSetting setting_;
  ordered_json description_;
  StepLog log_;
  std::size_t step_ = 0;
  double cost_done_ = 0;
  double cost_of_all_;
};

Tuner::Tuner(const FeatureStore& store, const Tuning& request, std::filesystem::path out,
             Progress progress)
    : store_(store),
      request_(normalised(store, request)),
      out_(std::move(out)),
      progress_(std::move(progress)),
      transforms_(transforms_of(request_)),
      surrogates_(surrogates_of(request_)),
      pldas_(pldas_of(request_)),
      networks_(networks_of(request_.views)),
      top_k_(request_.top_k.value_or(std::min(default_top_k(request_.method), transforms_.size()))),
      episodes_(draw_episodes(store, kSplit, request_.plan)),
      // Any positive alpha keeps the order of a single member's distances.
      setting_{store, kSplit, episodes_, Influence(1), request_.threads},
      description_(described(request_, top_k_, store.sha256(request_.threads))),
      log_(log_file(out_), description_),
      cost_of_all_(static_cast<double>(request_.views.size()) *
                       (cost(transforms_.size(), transforms_.size()) +
                        (surrogates_.empty() ? 0 : cost(top_k_ * surrogates_.size(), top_k_))) +
                   static_cast<double>(networks_.size()) * cost(pldas_.size(), pldas_.size())) {}

Counts Tuner::correct(const Pool& members, std::size_t passes) {
  const double step_cost = cost(members.size(), passes);
  const auto report = [&](double fraction) {
    if (progress_) progress_((cost_done_ + fraction * step_cost) / cost_of_all_);
  };
  Counts counts;
  if (step_ < log_.steps().size()) {
    counts = log_.steps()[step_];
    const std::uint64_t queries = request_.plan.count * request_.plan.shape.total_queries();
    if (counts.size() != members.size() || std::ranges::max(counts) > queries)
      log_.refuse_as_damaged();
  } else {
    report(0);
    counts = correct_of_each_member(setting_, members, report);
    log_.append(counts);
  }
  ++step_;
  cost_done_ += step_cost;
  return counts;
}

Plda Tuner::choose_plda(TuningResult& result, const std::string& network) {
  const Transform square_root{.lambda = 0.5, .is_signed = request_.is_signed};
  Pool members;
  for (const Plda& plda : pldas_)
    members.push_back({view_of(network, kMeanView), square_root, plda});
  const Counts counts = correct(members, members.size());
  const auto best = static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin());
  for (std::size_t i = 0; i < pldas_.size(); ++i)
    result.pldas.push_back({network, pldas_[i], percent(counts[i]), i == best});
  return pldas_[best];
}

void Tuner::rank_transforms(TuningResult& result) {
  const auto geometry_of = [&](const std::string& view) -> const Geometry& {
    const auto network = std::ranges::find(networks_, network_of(view));
    return geometries_[static_cast<std::size_t>(network - networks_.begin())];
  };
  std::vector<Counts> of_views;
  Counts sums(transforms_.size());
  for (const std::string& view : request_.views) {
    Pool members;
    for (const Transform& transform : transforms_)
      members.push_back({view, transform, geometry_of(view)});
    of_views.push_back(correct(members, members.size()));
    std::ranges::transform(sums, of_views.back(), sums.begin(), std::plus{});
  }
  std::vector<std::size_t> order(transforms_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return sums[i]; });
  for (const std::size_t i : order)
    result.transforms.push_back({transforms_[i], percent(sums[i], request_.views.size())});
  if (!surrogates_.empty()) return;
  for (std::size_t v = 0; v < request_.views.size(); ++v)
    for (std::size_t k = 0; k < top_k_; ++k)
      add_member(result, {request_.views[v], transforms_[order[k]], geometry_of(request_.views[v])},
                 of_views[v][order[k]]);
}

void Tuner::choose_surrogates(TuningResult& result) {
  const std::size_t count = surrogates_.size();
  const std::size_t betas = request_.grid.betas.size();
  std::vector<Counts> of_views;  // [views][transforms x surrogates]
  Counts sums(count);
  for (const std::string& view : request_.views) {
    Pool members;
    for (std::size_t k = 0; k < top_k_; ++k)
      for (const Surrogate& surrogate : surrogates_)
        members.push_back({view, result.transforms[k].transform, surrogate});
    of_views.push_back(correct(members, top_k_));
    for (std::size_t i = 0; i < members.size(); ++i) sums[i % count] += of_views.back()[i];
  }
  for (std::size_t i = 0; i < count; ++i)
    result.surrogates.push_back({surrogates_[i], percent(sums[i], request_.views.size() * top_k_)});
  std::vector<std::size_t> chosen;  // one for each R
  for (std::size_t first = 0; first < count; first += betas) {
    const std::span<const std::uint64_t> tried(&sums[first], betas);
    const auto best = std::ranges::max_element(tried) - tried.begin();
    chosen.push_back(first + static_cast<std::size_t>(best));
    result.surrogates[chosen.back()].is_chosen = true;
  }
  for (std::size_t v = 0; v < request_.views.size(); ++v)
    for (std::size_t k = 0; k < top_k_; ++k)
      for (const std::size_t i : chosen)
        add_member(result, {request_.views[v], result.transforms[k].transform, surrogates_[i]},
                   of_views[v][k * count + i]);
}

TuningResult Tuner::run() {
  TuningResult result{.top_k = top_k_, .resumed_steps = log_.steps().size()};
  try {
    for (const std::string& network : networks_)
      geometries_.push_back(pldas_.empty() ? Geometry(Voronoi{}) : choose_plda(result, network));
    rank_transforms(result);
    if (!surrogates_.empty()) choose_surrogates(result);
  } catch (...) {
    // Nothing to go on from, and it would stand in the way of a better command.
    if (log_.steps().empty()) log_.remove();
    throw;
  }
  result.steps = step_;
  if (log_.steps().size() != step_) log_.refuse_as_damaged();
  write(result);
  log_.remove();
  return result;
}

void Tuner::write(const TuningResult& result) const {
  ordered_json tuning = description_;
  tuning["store"]["path"] = store_.folder().string();
  tuning["transformations"] = ordered_json::array();
  for (std::size_t i = 0; i < result.transforms.size(); ++i)
    tuning["transformations"].push_back({{"b", result.transforms[i].transform.b},
                                         {"lambda", result.transforms[i].transform.lambda},
                                         {"val_accuracy", result.transforms[i].val_accuracy},
                                         {"chosen", i < top_k_}});
  if (!result.surrogates.empty()) tuning["surrogates"] = ordered_json::array();
  for (const TriedSurrogate& tried : result.surrogates)
    tuning["surrogates"].push_back({{"R", tried.surrogate.R},
                                    {"beta", tried.surrogate.beta},
                                    {"val_accuracy", tried.val_accuracy},
                                    {"chosen", tried.is_chosen}});
  if (!result.pldas.empty()) tuning["plda"] = ordered_json::array();
  for (const TriedPlda& tried : result.pldas) {
    ordered_json entry = ordered_json::object();
    if (!tried.network.empty()) entry["network"] = tried.network;
    entry["shrink_within"] = tried.plda.shrink_within;
    entry["shrink_between"] = tried.plda.shrink_between;
    entry["kappa"] = tried.plda.kappa;
    entry["val_accuracy"] = tried.val_accuracy;
    entry["chosen"] = tried.is_chosen;
    tuning["plda"].push_back(std::move(entry));
  }
  ordered_json members = to_json(result.members);
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i]["val_accuracy"] = result.member_val_accuracy[i];
  const ordered_json document = {
      {"format", "deepvoro-pool"}, {"version", 1}, {"tuning", tuning}, {"members", members}};
  AtomicFile file(out_);
  file.write(json_text(document));
  file.commit();
}

}  // namespace

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

TuningResult tune(const FeatureStore& store, const Tuning& request,
                  const std::filesystem::path& out, const Progress& progress) {
  return Tuner(store, request, out, progress).run();
}

}  // namespace deepvoro
