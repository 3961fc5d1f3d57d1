#include "heads/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "kernels/head_kernels.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kRowGrain = 128;

void scale_to_unit(double norm, std::size_t dim, double* row) {
  kernels::active().transform({.ladder = kernels::Ladder::identity}, norm, dim, row);
}

}  // namespace

kernels::RowStatus prepare_row(const Preparation& preparation, double norm, std::size_t dim,
                               double* row) {
  const Preparation& p = preparation;
  if (p.unit_first) scale_to_unit(norm, dim, row);
  for (std::size_t i = 0; i < p.origin.size(); ++i) row[i] -= p.origin[i];
  if (p.square_root) {
    const kernels::RowTransform root{.b = p.offset,
                                     .lambda = 0.5,
                                     .is_signed = p.is_signed,
                                     .ladder = kernels::Ladder::square_root};
    const kernels::RowStatus status = kernels::active().transform(root, 1, dim, row);
    if (status != kernels::RowStatus::ok) return status;
  }
  if (p.unit_last) {
    double squared_norm = 0;
    kernels::head_kernels().dots(row, row, 0, 1, padded(dim), &squared_norm);
    scale_to_unit(std::sqrt(squared_norm), dim, row);
  }
  return kernels::RowStatus::ok;
}

Error refused_row(const Preparation& preparation, const std::string& where,
                  std::span<const double> values) {
  for (std::size_t column = 0; column < values.size(); ++column)
    if (values[column] + preparation.offset < 0)
      return data_error(
          fmt::format("{}, column {}: the value is {}, which has no square root; use `signed`, or "
                      "features that are never negative, such as the outputs of a ReLU",
                      where, column, values[column]),
          ErrorCode::negative_features);
  return internal_error("a row cannot be prepared, but each of its values can");
}

PreparedView::PreparedView(const FeatureStore& store, const std::string& split,
                           const std::string& view, Preparation preparation, unsigned threads,
                           std::size_t most_kept_bytes, const RowSet* some)
    : view_(store, store.dim(view), threads, some), preparation_(std::move(preparation)) {
  view_.load(split, view);
  if (rows() <= most_kept_bytes / (padded(dim()) * sizeof(double)))
    kept_ = Matrix<double>(rows(), dim());
  parallel_for(threads, rows(), kRowGrain, [&](std::size_t begin, std::size_t end, unsigned) {
    std::vector<double> scratch(padded(dim()));
    for (std::size_t r = begin; r < end; ++r)
      prepare(r, kept_.rows() > 0 ? kept_.row(r) : scratch.data());
  });
}

const double* PreparedView::row(std::size_t index, double* scratch) const {
  if (kept_.rows() > 0) return kept_.row(index);
  prepare(index, scratch);
  return scratch;
}

void PreparedView::fetch_ahead(std::size_t index) const {
  if (kept_.rows() == 0) return;
  constexpr std::size_t line = 64 / sizeof(double);
  const double* row = kept_.row(index);
  for (std::size_t i = 0; i < kept_.stride(); i += line) __builtin_prefetch(row + i);
}

void PreparedView::prepare(std::size_t index, double* out) const {
  const std::byte* elements = view_.run(index, 0).data;
  widen(view_.element(), elements, dim(), out);
  if (prepare_row(preparation_, view_.norm(index), dim(), out) == kernels::RowStatus::ok) return;
  widen(view_.element(), elements, dim(), out);
  throw refused_row(preparation_,
                    fmt::format("{}: row {}", view_.file(), view_.row_in_split(index)),
                    {out, dim()});
}

void PreparedView::gather(std::span<const std::uint32_t> rows, Matrix<double>& out) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double* from = row(rows[i], out.row(i));
    if (from != out.row(i)) std::copy_n(from, out.stride(), out.row(i));
  }
}

}  // namespace deepvoro
