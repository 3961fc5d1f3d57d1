#include "surrogate_sums.hpp"

#include <algorithm>

namespace deepvoro {
namespace {

using torch::Tensor;

#ifdef DEEPVORO_CUDA
void add_by_kernel(const SurrogateEpisodes& episodes, const std::vector<SurrogateTerm>& terms,
                   double alpha, Tensor& sums) {
  const Tensor distances = episodes.distances.to(torch::kFloat64).contiguous();
  const Tensor center_to_base = episodes.center_to_base.contiguous();
  const Tensor sample_to_base = episodes.sample_to_base.contiguous();
  const Tensor queries = episodes.queries.contiguous();
  const std::int64_t bases = center_to_base.size(2);
  const std::int64_t levels = std::min(terms.back().R, bases);
  const auto scratch = [&](std::int64_t columns) {
    return torch::empty({queries.size(0), columns}, queries.options().dtype(torch::kInt32));
  };
  const Tensor joined = scratch(bases);
  const Tensor set_sizes = scratch(levels);
  const SurrogateSums task{.distances = distances.data_ptr<double>(),
                           .center_to_base = center_to_base.data_ptr<double>(),
                           .sample_to_base = sample_to_base.data_ptr<double>(),
                           .queries = queries.data_ptr<std::int64_t>(),
                           .sums = sums.data_ptr<double>(),
                           .joined = joined.data_ptr<int>(),
                           .set_sizes = set_sizes.data_ptr<int>(),
                           .episode_count = static_cast<int>(queries.size(0)),
                           .way_count = static_cast<int>(center_to_base.size(1)),
                           .query_count = static_cast<int>(queries.size(1)),
                           .base_count = static_cast<int>(bases),
                           .level_count = static_cast<int>(levels),
                           .alpha = alpha};
  const auto check = [](const char* failure) {
    TORCH_CHECK(failure == nullptr, "CUDA: ", failure);
  };
  check(launch_surrogate_sets(task));
  for (auto left = terms.begin(); left != terms.end();) {
    SurrogateTerms some;
    while (left != terms.end() && some.count < SurrogateSums::kMostTerms)
      some.at[some.count++] = *left++;
    check(launch_surrogate_sums(task, some));
  }
}
#endif

// Shares of their sum along the ways, or zeros where that is zero.
Tensor shares_of(const Tensor& values, std::int64_t ways) {
  const Tensor sums = values.sum(ways, /*keepdim=*/true);
  return values * torch::where(sums > 0, sums.reciprocal(), torch::zeros_like(sums));
}

// The R at which each base class joins the set, less one: [episodes, base classes].
Tensor joining(const Tensor& center_to_base) {
  const Tensor order =
      std::get<1>(torch::sort(center_to_base, /*stable=*/true, /*dim=*/2, /*descending=*/false));
  const Tensor places = torch::arange(order.size(2), order.options()).expand_as(order);
  return torch::empty_like(order).scatter_(2, order, places).amin(1);
}

void add_by_tensors(const SurrogateEpisodes& episodes, const std::vector<SurrogateTerm>& terms,
                    double alpha, Tensor& sums) {
  const Tensor shares = shares_of(episodes.distances.to(torch::kFloat64), 1);
  const Tensor joins_at = joining(episodes.center_to_base).unsqueeze(1);
  const Tensor& queries = episodes.queries;
  const Tensor of_queries = episodes.sample_to_base.index_select(0, queries.reshape({-1}))
                                .view({queries.size(0), queries.size(1), -1});
  // |q - p|^2 = q.q - 2 p.q + p.p over a set. Only differences count, and with the common part gone
  // products lose no digits.
  const Tensor common = episodes.center_to_base.mean(1, /*keepdim=*/true);
  const Tensor p = episodes.center_to_base - common;       // [episodes, ways, bases]
  const Tensor q = (of_queries - common).transpose(1, 2);  // [episodes, bases, queries]
  Tensor of_set;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const SurrogateTerm& term = terms[i];
    if (i == 0 || term.R != terms[i - 1].R) {
      const Tensor in_set = (joins_at < term.R).to(torch::kFloat64);
      const Tensor p_in_set = p * in_set;
      const Tensor both = in_set.bmm(q.square()) + (p_in_set * p).sum(2, /*keepdim=*/true);
      of_set = shares_of(torch::baddbmm(both, p_in_set, q, 1, -2).clamp_min(0).sqrt(), 1);
    }
    const Tensor values = (shares * term.beta + of_set * term.gamma) * term.weight;
    sums.add_(alpha == 1 ? values : values.pow(alpha));
  }
}

}  // namespace

void add_surrogates(const SurrogateEpisodes& episodes, std::vector<SurrogateTerm> terms,
                    double alpha, Tensor sums) {
  std::ranges::sort(terms, {}, &SurrogateTerm::R);
#ifdef DEEPVORO_CUDA
  if (sums.is_cuda() && episodes.center_to_base.size(2) <= SurrogateSums::kMostBases)
    return add_by_kernel(episodes, terms, alpha, sums);
#endif
  add_by_tensors(episodes, terms, alpha, sums);
}

}  // namespace deepvoro
