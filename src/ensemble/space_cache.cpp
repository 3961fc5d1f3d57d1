#include "ensemble/space_cache.hpp"

#include <algorithm>

#include "base_classes.hpp"
#include "deepvoro/core/parallel.hpp"
#include "features/transformed_rows.hpp"

namespace deepvoro {
namespace {

std::shared_ptr<const Space> fitted(const FeatureStore& store, const Member& member) {
  const std::size_t dim = store.dim(member.view);
  LoadedView view = LoadedView::mapped(store, 1);
  view.load("base", member.view);
  const RowTransformer transformer(view, member.transform, std::vector<float>(dim));
  std::vector<double> scratch(padded(dim));
  return member.geometry.space({.dim = dim,
                                .by_class = base_classes(store),
                                .read =
                                    [&](std::size_t row, double* out) {
                                      transformer.columns(row, 0, scratch.size(), scratch.data(),
                                                          out);
                                    },
                                .origin = view.file()});
}

}  // namespace

std::shared_ptr<const Space> SpaceCache::kept(const Member& member) const {
  const auto found = std::ranges::find_if(
      kept_, [&](const Kept& one) { return one.member.shares_points_with(member); });
  return found == kept_.end() ? nullptr : found->space;
}

std::vector<std::shared_ptr<const Space>> SpaceCache::spaces(std::span<const Member> members,
                                                             unsigned threads) {
  std::vector<std::shared_ptr<const Space>> all;
  for (const Member& member : members) all.push_back(kept(member));
  parallel_for(threads, members.size(), 1, [&](std::size_t i, std::size_t, unsigned) {
    if (all[i] == nullptr) all[i] = fitted(store_, members[i]);
  });
  for (std::size_t i = 0; i < members.size(); ++i)
    if (kept(members[i]) == nullptr && bytes_ + all[i]->bytes() <= most_bytes_) {
      bytes_ += all[i]->bytes();
      kept_.push_back({members[i], all[i]});
    }
  return all;
}

}  // namespace deepvoro
