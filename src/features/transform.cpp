#include "deepvoro/features/transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/matrix.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "transformed_rows.hpp"

namespace deepvoro {
namespace {

using kernels::Ladder;
using kernels::RowStatus;

constexpr std::size_t kRowGrain = 128;

Ladder ladder_for(double lambda) {
  if (lambda == 1) return Ladder::identity;
  if (lambda == 0.5) return Ladder::square_root;
  if (lambda == 0.75) return Ladder::three_quarters;
  if (lambda == 2) return Ladder::square;
  if (lambda == 0) return Ladder::logarithm;
  if (std::fmod(lambda, 2) == 0) return Ladder::even_power;
  if (std::fmod(std::abs(lambda), 2) == 1) return Ladder::odd_power;
  return Ladder::power;
}

// What elements are multiplied with to make up a row of length 1.
float scale_of(double norm) {
  return static_cast<float>(norm > 0 ? 1 / norm : 0);
}

// log(wz + b) is kept as log(wz/b + 1), which is 0 where a ReLU feature is.
bool logarithm_has_origin(const Transform& transform) {
  return transform.lambda == 0 && !transform.is_signed && transform.b > 0;
}

kernels::RowTransform exact_plan(const Transform& transform) {
  // Beyond these, squares of results leave the range of float32.
  constexpr double largest = 1e9;
  constexpr double largest_power = 8;
  const double w = std::abs(transform.w);
  if (!(w == 0 || (w >= 1 / largest && w <= largest)) || !(std::abs(transform.b) <= largest) ||
      !(std::abs(transform.lambda) <= largest_power))
    throw data_error(
        fmt::format("transformation {}: w must be 0 or of size {} to {}, b at most {}, "
                    "lambda from -{} to {}",
                    transform.id(), 1 / largest, largest, largest, largest_power, largest_power));
  kernels::RowTransform plan{transform.w, transform.b, transform.lambda, transform.is_signed,
                             ladder_for(transform.lambda)};
  if (logarithm_has_origin(transform)) {
    double origin = 0;
    kernels::active().transform(plan, 0, 1, &origin);
    plan.shift = origin;
  }
  return plan;
}

kernels::QuickTransform quick_plan(const Transform& transform) {
  const bool origin = logarithm_has_origin(transform);
  const bool any_sign = transform.lambda == 1 || transform.lambda == 2;
  return {.w = static_cast<float>(origin ? transform.w / transform.b : transform.w),
          .b = origin ? 1.0F : static_cast<float>(transform.b),
          .ladder = ladder_for(transform.lambda),
          .lowest = any_sign                ? -std::numeric_limits<float>::infinity()
                    : transform.lambda == 0 ? std::numeric_limits<float>::min()
                                            : 0.0F};
}

bool has_quick_plan(const Transform& transform) {
  const Ladder ladder = ladder_for(transform.lambda);
  return !transform.is_signed && ladder != Ladder::power && ladder != Ladder::even_power &&
         ladder != Ladder::odd_power;
}

[[noreturn]] void refuse_infinite(const std::string& file, std::size_t row,
                                  std::span<const double> values) {
  const auto bad = std::ranges::find_if(values, [](double v) { return !std::isfinite(v); });
  throw data_error(fmt::format(
      "{}: row {}, column {}: the value is {}; features must be finite, remove or repair "
      "this row",
      file, row, bad - values.begin(), bad == values.end() ? 0 : *bad));
}

}  // namespace

double widen(ElementType element, const std::byte* row, std::size_t count, double* out) {
  const kernels::Table& kernels = kernels::active();
  return element == ElementType::float16
             ? kernels.widen_float16(reinterpret_cast<const std::uint16_t*>(row), count, out)
             : kernels.widen_float32(reinterpret_cast<const float*>(row), count, out);
}

void add_unit_row(ElementType element, const std::byte* row, std::size_t count, double* scratch,
                  double* sum) {
  const double norm = widen(element, row, count, scratch);
  if (norm == 0) return;
  for (std::size_t i = 0; i < count; ++i) sum[i] += scratch[i] / norm;
}

std::string Transform::id() const {
  return fmt::format("w{}_b{}_l{}{}", w, b, lambda, is_signed ? "_signed" : "");
}

std::vector<Transform> eight_transforms(double b0) {
  std::vector<Transform> transforms;
  for (const double lambda : {0.5, 0.75, 1.0}) transforms.push_back({.lambda = lambda});
  for (const int times : {1, 2, 3, 4, 5}) transforms.push_back({.b = times * b0, .lambda = 0});
  return transforms;
}

LoadedView LoadedView::mapped(const FeatureStore& store, unsigned threads) {
  return {store, 0, threads};
}

void LoadedView::load(const std::string& split, const std::string& view) {
  file_ = is_mean_view(view)
              ? fmt::format("{}: split {}, {} of all views", store_.folder().string(), split, view)
              : store_.view_place(split, view);
  dim_ = store_.dim(view);
  norms_.resize(some_ ? some_->size() : store_.split(split).samples);
  scales_.resize(norms_.size());
  if (block_columns_ > 0) return copy(RowReader(store_, split, view));
  mapped_ = store_.features(split, view);
  element_ = mapped_->element();
  parallel_for(threads_, rows(), kRowGrain, [&](std::size_t begin, std::size_t end, unsigned) {
    for (std::size_t row = begin; row < end; ++row) measure(row, mapped_->row(row));
  });
}

void LoadedView::measure(std::size_t row, const std::byte* elements) {
  const kernels::Table& kernels = kernels::active();
  norms_[row] = element_ == ElementType::float16
                    ? kernels.norm_float16(reinterpret_cast<const std::uint16_t*>(elements), dim())
                    : kernels.norm_float32(reinterpret_cast<const float*>(elements), dim());
  scales_[row] = scale_of(norms_[row]);
  // Squares of float32 values cannot overflow a double: the norm is finite just when the row is.
  if (std::isfinite(norms_[row])) return;
  std::vector<double> wide(padded(dim()));
  widen(element_, elements, dim(), wide.data());
  refuse_infinite(file_, row_in_split(row), std::span(wide).first(dim()));
}

void LoadedView::copy(const RowReader& reader) {
  element_ = reader.element();
  const std::size_t item = element_size(element_);
  const std::size_t bytes = rows() * dim() * item;
  if (blocks_.cols() < bytes) blocks_ = Matrix<std::byte>(1, bytes);
  std::vector<RowReader> readers(threads_, reader);
  parallel_for(
      threads_, rows(), kRowGrain, [&](std::size_t begin, std::size_t end, unsigned worker) {
        for (std::size_t row = begin; row < end; ++row) {
          const std::byte* elements = readers[worker].row(row_in_split(row));
          measure(row, elements);
          for (std::size_t column = 0; column < dim(); column += block_columns_) {
            const Run to = run(row, column);
            // The memory is ours: run() only promises others not to write.
            std::memcpy(const_cast<std::byte*>(to.data), elements + column * item, to.count * item);
          }
        }
      });
}

LoadedView::Run LoadedView::run(std::size_t row, std::size_t column) const {
  if (mapped_) return {mapped_->row(row) + column * element_size(element_), dim() - column, 0};
  const std::size_t block_begin = column / block_columns_ * block_columns_;
  const std::size_t width = std::min(block_columns_, dim() - block_begin);
  const std::size_t offset = block_begin * rows() + row * width + (column - block_begin);
  return {blocks_.row(0) + offset * element_size(element_), width - (column - block_begin), width};
}

std::vector<std::uint32_t> rows_for_center(std::size_t rows_of_split) {
  constexpr std::size_t most_samples = 16;
  const std::size_t samples = std::min(most_samples, rows_of_split);
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < samples; ++i)
    rows.push_back(static_cast<std::uint32_t>(i * rows_of_split / samples));
  return rows;
}

std::vector<float> center_of(const LoadedView& view, const Transform& transform) {
  const std::size_t dim = view.dim();
  const std::vector<std::uint32_t> rows = rows_for_center(view.rows_of_split());
  const RowTransformer transformer(view, transform, std::vector<float>(dim));
  std::vector<double> scratch(padded(dim));
  std::vector<float> row(padded(dim));
  std::vector<double> sum(dim);
  for (const std::uint32_t of_split : rows) {
    transformer.columns(view.place(of_split), 0, padded(dim), scratch.data(), row.data());
    for (std::size_t c = 0; c < dim; ++c) sum[c] += static_cast<double>(row[c]);
  }
  std::vector<float> center(dim);
  for (std::size_t c = 0; c < dim; ++c)
    center[c] =
        static_cast<float>(sum[c] / static_cast<double>(std::max<std::size_t>(rows.size(), 1)));
  return center;
}

TransformPlan::TransformPlan(const Transform& transform)
    : transform_(transform),
      exact_(exact_plan(transform)),
      quick_(quick_plan(transform)),
      has_quick_(has_quick_plan(transform)) {}

template <class Real>
RowStatus TransformPlan::apply(ElementType element, const std::byte* row, std::size_t count,
                               double norm, const float* center, double* scratch, Real* out) const {
  if constexpr (std::is_same_v<Real, float>) {
    const float scale = scale_of(norm);
    if (quick(element, row, count, &scale, center, count, {out, 1, count, count}))
      return RowStatus::ok;
  }
  widen(element, row, count, scratch);
  const RowStatus status = kernels::active().transform(exact_, norm, count, scratch);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<Real>(scratch[i] - static_cast<double>(center[i]));
  return status;
}

template RowStatus TransformPlan::apply(ElementType, const std::byte*, std::size_t, double,
                                        const float*, double*, float*) const;
template RowStatus TransformPlan::apply(ElementType, const std::byte*, std::size_t, double,
                                        const float*, double*, double*) const;

// A scale that is not finite takes every element out of the domain.
bool TransformPlan::quick(ElementType element, const std::byte* rows, std::size_t stride,
                          const float* scales, const float* center, std::size_t columns,
                          MatrixView<float> out) const {
  if (!has_quick_) return false;
  const kernels::Table& kernels = kernels::active();
  const auto task_of = [&]<class Element>() {
    return kernels::QuickRows<Element>{.rows = reinterpret_cast<const Element*>(rows),
                                       .row_stride = stride,
                                       .scales = scales,
                                       .count = out.rows(),
                                       .center = center,
                                       .columns = columns,
                                       .out = out.data(),
                                       .out_stride = out.stride()};
  };
  return element == ElementType::float16
             ? kernels.quick_float16(quick_, task_of.template operator()<std::uint16_t>())
             : kernels.quick_float32(quick_, task_of.template operator()<float>());
}

bool TransformPlan::apply_quickly(const LoadedView& view, std::size_t first_row, std::size_t column,
                                  const float* center, std::size_t columns,
                                  MatrixView<float> out) const {
  const LoadedView::Run run = view.run(first_row, column);
  return run.stride > 0 && columns <= run.count &&
         quick(view.element(), run.data, run.stride, view.scale(first_row), center, columns, out);
}

TransformPlan::Complaint TransformPlan::explain(ElementType element, const std::byte* row,
                                                std::size_t count, double norm,
                                                double* scratch) const {
  widen(element, row, count, scratch);
  for (std::size_t column = 0; column < count; ++column) {
    const double value = scratch[column];
    double alone = value;
    const RowStatus status = kernels::active().transform(exact_, norm, 1, &alone);
    if (status == RowStatus::ok) continue;
    const double y = transform_.w * (norm > 0 ? value / norm : 0) + transform_.b;
    const std::string what =
        status == RowStatus::overflow
            ? fmt::format(
                  "which transformation {} takes beyond float32; choose another lambda, w or b",
                  transform_.id())
            : fmt::format(
                  "so w*z + b is {:.6g}, which has no {}; use signed transformations (`signed`), a "
                  "larger b or another "
                  "lambda",
                  y,
                  transform_.lambda == 0 ? "logarithm"
                                         : fmt::format("power {}", transform_.lambda));
    return {column, fmt::format("the value is {}, {}", value, what),
            status == RowStatus::overflow ? ErrorCode::none : ErrorCode::negative_features};
  }
  throw internal_error("a row cannot be transformed, but each of its values can");
}

template <class Real>
void RowTransformer::columns(std::size_t row, std::size_t begin, std::size_t count, double* scratch,
                             Real* out) const {
  const std::size_t end = begin + std::min(count, view_.dim() - begin);
  std::fill(out + (end - begin), out + count, Real{0});
  for (std::size_t column = begin; column < end;) {
    LoadedView::Run run = view_.run(row, column);
    run.count = std::min(run.count, end - column);
    const RowStatus status = plan_.apply(view_.element(), run.data, run.count, view_.norm(row),
                                         center_.data() + column, scratch, out + (column - begin));
    if (status != RowStatus::ok) {
      const auto complaint =
          plan_.explain(view_.element(), run.data, run.count, view_.norm(row), scratch);
      throw data_error(
          fmt::format("{}: row {}, column {}: {}", view_.file(), view_.row_in_split(row),
                      column + complaint.column, complaint.what),
          complaint.code);
    }
    column += run.count;
  }
}

template <class Real>
void RowTransformer::block(std::size_t first_row, std::size_t begin, double* scratch,
                           MatrixView<Real> out) const {
  if constexpr (std::is_same_v<Real, float>) {
    const std::size_t columns = std::min(out.stride(), view_.dim() - begin);
    if (plan_.apply_quickly(view_, first_row, begin, center_.data() + begin, columns, out)) {
      for (std::size_t r = 0; r < out.rows() && columns < out.stride(); ++r)
        std::fill(out.row(r) + columns, out.row(r) + out.stride(), Real{0});
      return;
    }
  }
  for (std::size_t r = 0; r < out.rows(); ++r)
    this->columns(first_row + r, begin, out.stride(), scratch, out.row(r));
}

template void RowTransformer::columns(std::size_t, std::size_t, std::size_t, double*, float*) const;
template void RowTransformer::columns(std::size_t, std::size_t, std::size_t, double*,
                                      double*) const;
template void RowTransformer::block(std::size_t, std::size_t, double*, MatrixView<float>) const;
template void RowTransformer::block(std::size_t, std::size_t, double*, MatrixView<double>) const;

}  // namespace deepvoro
