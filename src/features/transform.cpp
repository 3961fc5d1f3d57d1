#include "deepvoro/features/transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

using kernels::Ladder;
using kernels::RowStatus;

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

kernels::RowTransform plan_for(const Transform& transform) {
  if (!std::isfinite(transform.w) || !std::isfinite(transform.b) ||
      !std::isfinite(transform.lambda))
    throw data_error(
        fmt::format("transformation {}: w, b and lambda must be finite numbers", transform.id()));
  kernels::RowTransform plan{transform.w, transform.b, transform.lambda, transform.is_signed,
                             ladder_for(transform.lambda)};
  // The image of a zero element: most elements of a ReLU feature lie there or near.
  double origin = 0;
  if (kernels::active().transform(plan, 0, 1, &origin) == RowStatus::ok) plan.shift = origin;
  return plan;
}

}  // namespace

std::string Transform::id() const {
  return fmt::format("w{}_b{}_l{}{}", w, b, lambda, is_signed ? "_signed" : "");
}

std::vector<Transform> eight_transforms(double b0) {
  std::vector<Transform> transforms;
  for (const double lambda : {0.5, 0.75, 1.0}) transforms.push_back({.lambda = lambda});
  for (const int times : {1, 2, 3, 4, 5}) transforms.push_back({.b = times * b0, .lambda = 0});
  return transforms;
}

RowTransformer::RowTransformer(const FeatureRows& rows, const Transform& transform,
                               std::string where)
    : rows_(rows),
      transform_(transform),
      plan_(plan_for(transform)),
      where_(std::move(where)),
      kernels_(kernels::active()) {}

double RowTransformer::widen(std::size_t index, double* scratch) const {
  const std::byte* from = rows_.row(index);
  return rows_.element() == ElementType::float16
             ? kernels_.widen_float16(reinterpret_cast<const std::uint16_t*>(from), rows_.dim(),
                                      scratch)
             : kernels_.widen_float32(reinterpret_cast<const float*>(from), rows_.dim(), scratch);
}

void RowTransformer::transform_in_scratch(std::size_t index, double* scratch) const {
  const double norm = widen(index, scratch);
  const RowStatus status = kernels_.transform(plan_, norm, rows_.dim(), scratch);
  if (status != RowStatus::ok) explain(status, index, scratch);
}

template <class Real>
void RowTransformer::row(std::size_t index, double* scratch, Real* out) const {
  transform_in_scratch(index, scratch);
  const std::size_t length = padded(rows_.dim());
  for (std::size_t i = 0; i < length; ++i) out[i] = static_cast<Real>(scratch[i]);
}

template void RowTransformer::row(std::size_t, double*, float*) const;
template void RowTransformer::row(std::size_t, double*, double*) const;

void RowTransformer::explain(RowStatus status, std::size_t index, double* scratch) const {
  const double norm = widen(index, scratch);
  for (std::size_t column = 0; column < rows_.dim(); ++column) {
    const double value = scratch[column];
    const auto fail = [&](const std::string& what) {
      throw data_error(fmt::format("{}: row {}, column {}: the value is {}{}", where_, index,
                                   column, value, what));
    };
    if (!std::isfinite(value)) fail("; features must be finite, remove or repair this row");

    double alone = value;  // transformed by itself, it shows whether it is the culprit
    if (status == RowStatus::not_finite ||
        kernels_.transform(plan_, norm, 1, &alone) == RowStatus::ok)
      continue;
    const double y = transform_.w * (norm > 0 ? value / norm : 0) + transform_.b;
    if (status == RowStatus::overflow)
      fail(fmt::format(
          ", which transformation {} takes beyond float32; choose another lambda, w or b",
          transform_.id()));
    fail(fmt::format(
        ", so w*z + b is {:.6g}, which has no {}; use --signed, a larger b or another lambda", y,
        transform_.lambda == 0 ? "logarithm" : fmt::format("power {}", transform_.lambda)));
  }
  throw internal_error(
      fmt::format("{}: row {} cannot be transformed, but each of its values can", where_, index));
}

}  // namespace deepvoro
