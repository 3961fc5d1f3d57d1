#include "study/tuner.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "ensemble/influence_field.hpp"
#include "study/tuning_settings.hpp"

namespace deepvoro {
namespace {

class Tuner {
 public:
  Tuner(const Tuning& request, const CountStage& count)
      : request_(request),
        count_(count),
        transforms_(transforms_of(request)),
        surrogates_(surrogates_of(request)),
        pldas_(pldas_of(request)),
        networks_(networks_of(request.views)),
        top_k_(top_k_of(request)) {}

  TuningResult run() {
    TuningResult result{.top_k = top_k_};
    choose_geometries(result);
    rank_transforms(result);
    if (!surrogates_.empty()) choose_surrogates(result);
    return result;
  }

 private:
  void choose_geometries(TuningResult& result);
  void rank_transforms(TuningResult& result);
  void choose_surrogates(TuningResult& result);

  [[nodiscard]] double percent(std::uint64_t correct, std::size_t members = 1) const {
    return percent_of_queries(correct, request_.plan.shape, members * request_.plan.count);
  }
  void add_member(TuningResult& result, Member member, std::uint64_t correct) const {
    result.members.push_back(std::move(member));
    result.member_val_accuracy.push_back(percent(correct));
  }

  const Tuning& request_;
  const CountStage& count_;
  std::vector<Transform> transforms_;
  std::vector<Surrogate> surrogates_;
  std::vector<Plda> pldas_;
  std::vector<std::string> networks_;  // of the views
  std::vector<Geometry> geometries_;   // of the networks, before surrogates are chosen
  std::size_t top_k_;
};

void Tuner::choose_geometries(TuningResult& result) {
  geometries_.assign(networks_.size(), Geometry(Voronoi{}));
  if (pldas_.empty()) return;
  const Transform square_root{.lambda = 0.5, .is_signed = request_.is_signed};
  std::vector<TuningStep> stage;
  for (const std::string& network : networks_) {
    stage.push_back({.members = {}, .passes = pldas_.size()});
    for (const Plda& plda : pldas_)
      stage.back().members.push_back({view_of(network, kMeanView), square_root, plda});
  }
  const std::vector<Counts> of_networks = count_(stage);
  for (std::size_t n = 0; n < networks_.size(); ++n) {
    const Counts& counts = of_networks[n];
    const auto best = static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin());
    for (std::size_t i = 0; i < pldas_.size(); ++i)
      result.pldas.push_back({networks_[n], pldas_[i], percent(counts[i]), i == best});
    geometries_[n] = pldas_[best];
  }
}

void Tuner::rank_transforms(TuningResult& result) {
  const auto geometry_of = [&](const std::string& view) -> const Geometry& {
    const auto network = std::ranges::find(networks_, network_of(view));
    return geometries_[static_cast<std::size_t>(network - networks_.begin())];
  };
  std::vector<TuningStep> stage;
  for (const std::string& view : request_.views) {
    stage.push_back({.members = {}, .passes = transforms_.size()});
    for (const Transform& transform : transforms_)
      stage.back().members.push_back({view, transform, geometry_of(view)});
  }
  const std::vector<Counts> of_views = count_(stage);
  Counts sums(transforms_.size());
  for (const Counts& counts : of_views)
    std::ranges::transform(sums, counts, sums.begin(), std::plus{});
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
  std::vector<TuningStep> stage;
  for (const std::string& view : request_.views) {
    stage.push_back({.members = {}, .passes = top_k_});
    for (std::size_t k = 0; k < top_k_; ++k)
      for (const Surrogate& surrogate : surrogates_)
        stage.back().members.push_back({view, result.transforms[k].transform, surrogate});
  }
  const std::vector<Counts> of_views = count_(stage);  // [views][transforms x surrogates]
  Counts sums(count);
  for (const Counts& counts : of_views)
    for (std::size_t i = 0; i < counts.size(); ++i) sums[i % count] += counts[i];
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

}  // namespace

std::vector<std::size_t> steps_of_stages(const Tuning& request) {
  std::vector<std::size_t> steps;
  if (!pldas_of(request).empty()) steps.push_back(networks_of(request.views).size());
  steps.push_back(request.views.size());
  if (!surrogates_of(request).empty()) steps.push_back(request.views.size());
  return steps;
}

double cost_of_all_steps(const Tuning& request) {
  const auto cost = [](std::size_t steps, std::size_t members, std::size_t passes) {
    return static_cast<double>(steps) * TuningStep{Pool(members), passes}.cost();
  };
  const std::size_t transforms = transforms_of(request).size();
  const std::size_t surrogates = surrogates_of(request).size();
  const std::size_t pldas = pldas_of(request).size();
  const std::size_t top_k = top_k_of(request);
  return cost(request.views.size(), transforms, transforms) +
         (surrogates == 0 ? 0 : cost(request.views.size(), top_k * surrogates, top_k)) +
         cost(networks_of(request.views).size(), pldas, pldas);
}

TuningResult choose_members(const Tuning& request, const CountStage& count) {
  return Tuner(request, count).run();
}

}  // namespace deepvoro
