#include "tuning_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"
#include "print_line.hpp"

namespace deepvoro {
namespace {

void print_transforms(const TuningResult& result) {
  fmt::print("{} of {} transformations\nlambda       b   val %\n", result.top_k,
             result.transforms.size());
  for (std::size_t i = 0; i < result.top_k; ++i) {
    const TriedTransform& tried = result.transforms[i];
    fmt::print("{:>6}  {:>6}  {:>6.2f}\n", tried.transform.lambda, tried.transform.b,
               tried.val_accuracy);
  }
}

void print_surrogates(const TuningResult& result, const TuningGrid& grid) {
  if (result.surrogates.empty()) return;
  fmt::print("the best of {} beta for each R\n     R    beta   val %\n", grid.betas.size());
  const double largest = std::ranges::max(grid.betas);
  bool at_the_end = false;
  for (const TriedSurrogate& tried : result.surrogates) {
    if (!tried.is_chosen) continue;
    fmt::print("{:>6}  {:>6}  {:>6.2f}\n", tried.surrogate.R, tried.surrogate.beta,
               tried.val_accuracy);
    at_the_end = at_the_end || tried.surrogate.beta == largest;
  }
  if (at_the_end && grid.betas.size() > 1)
    fmt::print("note: beta {} is the largest tried; larger --betas may do better\n", largest);
}

void print_pldas(const TuningResult& result) {
  for (const TriedPlda& tried : result.pldas)
    if (tried.is_chosen)
      fmt::print(
          "the best of {} shrinkages{}\nwithin  between  kappa   val %\n{:>6}  {:>7}  {:>5}  "
          "{:>6.2f}\n",
          std::ranges::count(result.pldas, tried.network, &TriedPlda::network),
          tried.network.empty() ? "" : " of " + tried.network, tried.plda.shrink_within,
          tried.plda.shrink_between, tried.plda.kappa, tried.val_accuracy);
}

}  // namespace

void print_tuning(const Tuning& request, const TuningResult& result, const std::string& store,
                  const std::string& out) {
  const EpisodePlan& plan = request.plan;
  print_line(fmt::format(
      "{}, split val: {}-way {}-shot, {} queries per class, {} episodes, seed {}, protocol {}",
      store, plan.shape.ways, plan.shape.shots, plan.shape.queries, plan.count, plan.seed,
      name(plan.protocol)));
  print_pldas(result);
  print_transforms(result);
  print_surrogates(result, request.grid);
  print_line(fmt::format("{}: {}", out, counted(result.members.size(), "member")));
  if (result.members.size() > 1)
    print_line(
        fmt::format("next: deepvoro evaluate {} --method {} --shots {} --pool {} --scheme guided",
                    store, name(request.method), plan.shape.shots, out));
}

}  // namespace deepvoro
