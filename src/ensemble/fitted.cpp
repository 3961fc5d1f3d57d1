#include "deepvoro/ensemble/fitted.hpp"

#include <algorithm>
#include <optional>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ensemble/engine.hpp"
#include "ensemble/member_group.hpp"
#include "ensemble/viewed_samples.hpp"

namespace deepvoro {
namespace {

// How many queries are worked on together: they stay in the second-level cache while prototypes
// pass by, and every thread has some.
std::size_t queries_together(std::size_t count, std::size_t dim, unsigned threads) {
  constexpr std::size_t cached = (std::size_t{384} << 10U) / sizeof(float);
  constexpr std::size_t most = 128;
  const std::size_t of_thread = count / std::max(threads, 1U) + 1;
  return std::clamp<std::size_t>(std::min(cached / dim, of_thread), 1, most);
}

MatrixView<const float> rows_of(MatrixView<const float> all, std::size_t begin, std::size_t end) {
  return {all.row(begin), end - begin, all.cols(), all.stride()};
}

}  // namespace

FittedEnsemble::FittedEnsemble(const Pool& pool, const ViewedSamples& support,
                               const ViewedSamples* base, Influence influence,
                               const SpaceProvider& spaces)
    : classes_(support.classes), views_(support.views), influence_(influence) {
  if (pool.empty()) throw usage_error("the pool has no members");
  check_samples(support);
  for (const MatrixView<const float>& rows : support.rows) dims_.push_back(rows.cols());
  if (base != nullptr) check_base(*base);
  const Pool members = picked(pool, streaming_order(pool));
  means_ = means_of(members);
  const WithMeans all_support(support, means_);
  std::optional<WithMeans> all_base;
  if (base != nullptr) all_base.emplace(*base, means_);
  for (std::size_t begin = 0; begin < members.size();) {
    std::size_t end = begin + 1;
    while (end < members.size() && members[begin].shares_points_with(members[end])) ++end;
    const GroupSource source{all_support.samples(), all_base ? &all_base->samples() : nullptr,
                             spaces, std::span(members).subspan(begin, end - begin)};
    groups_.push_back(fit_group(source));
    begin = end;
  }
}

void FittedEnsemble::check_base(const ViewedSamples& base) const {
  check_samples(base);
  for (std::size_t v = 0; v < base.views.size(); ++v) {
    const auto same = std::ranges::find(views_, network_of(base.views[v]),
                                        [](const auto& view) { return network_of(view); });
    if (same != views_.end() &&
        base.rows[v].cols() != dims_[static_cast<std::size_t>(same - views_.begin())])
      throw usage_error("every view must have one row of the same length for each label");
  }
}

FittedEnsemble::FittedEnsemble(FittedEnsemble&&) noexcept = default;
FittedEnsemble& FittedEnsemble::operator=(FittedEnsemble&&) noexcept = default;
FittedEnsemble::~FittedEnsemble() = default;

std::size_t FittedEnsemble::classes() const {
  return classes_;
}

void FittedEnsemble::influence(std::span<const std::span<const float>> query,
                               std::span<double> out) const {
  if (out.size() != classes_) throw usage_error("room for one influence per class must be given");
  std::vector<MatrixView<const float>> queries;
  for (const std::span<const float> row : query) queries.emplace_back(row.data(), 1, row.size());
  influence_of_block(queries, {}, 0, 1, {out.data(), 1, classes_});
}

void FittedEnsemble::influence_without(std::span<const MatrixView<const float>> samples,
                                       std::span<const std::size_t> labels, MatrixView<double> out,
                                       unsigned threads) const {
  if (out.cols() != classes_ || out.rows() != labels.size())
    throw usage_error("every sample needs a label, and room for one influence per class");
  if (influence_.alpha() != 1) throw usage_error("samples are left out where alpha is 1");
  const std::size_t block = queries_together(out.rows(), std::ranges::max(dims_), threads);
  parallel_for(threads, out.rows(), block, [&](std::size_t begin, std::size_t end, unsigned) {
    influence_of_block(samples, labels.subspan(begin, end - begin), begin, end, out);
  });
}

void FittedEnsemble::influence(std::span<const MatrixView<const float>> queries,
                               MatrixView<double> out, unsigned threads) const {
  if (out.cols() != classes_) throw usage_error("room for one influence per class must be given");
  for (const MatrixView<const float>& view : queries)
    if (view.rows() != out.rows())
      throw usage_error("every view of the queries must have the same number of rows");
  const std::size_t block = queries_together(out.rows(), std::ranges::max(dims_), threads);
  parallel_for(threads, out.rows(), block, [&](std::size_t begin, std::size_t end, unsigned) {
    influence_of_block(queries, {}, begin, end, out);
  });
}

void FittedEnsemble::influence_of_block(std::span<const MatrixView<const float>> queries,
                                        std::span<const std::size_t> left_out_of, std::size_t begin,
                                        std::size_t end, MatrixView<double> out) const {
  std::vector<double> scratch(padded(std::ranges::max(dims_)));
  std::vector<double> norms(end - begin);
  Matrix<double> sums(classes_, end - begin);
  for (std::size_t v = 0; v < views_.size(); ++v)
    if (v >= queries.size() || queries[v].cols() != dims_[v])
      throw usage_error("the query needs features of every view of the support");
  GroupScratch of_groups;
  Matrix<float> mean;
  const Group* last = nullptr;
  MatrixView<const float> seen;
  for (const auto& group : groups_) {
    if (last == nullptr || last->view() != group->view()) {
      const bool is_mean = group->view() >= views_.size();
      if (is_mean)
        mean = mean_rows(
            rows_of_network(views_, queries, network_of(means_[group->view() - views_.size()])),
            begin, end);
      seen = is_mean ? MatrixView<const float>(mean.view())
                     : rows_of(queries[group->view()], begin, end);
      for (std::size_t q = 0; q < norms.size(); ++q) norms[q] = checked_norm(seen[q], scratch);
    }
    last = group.get();
    group->add_terms(seen, norms, left_out_of, influence_, of_groups, sums.view());
  }
  for (std::size_t q = begin; q < end; ++q)
    for (std::size_t k = 0; k < classes_; ++k)
      out[q][k] = influence_.sign() * sums.row(k)[q - begin];
}

}  // namespace deepvoro
