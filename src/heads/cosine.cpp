#include "heads/cosine.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/head_kernels.hpp"

namespace deepvoro {

void CosineHead::fit(const Support& support) {
  LegacyRandom random(support.stream);
  start(support, random);
  const std::size_t rows = support.rows.rows();
  bool is_first = true;
  for (std::size_t epoch = 0; epoch < options_.epochs; ++epoch) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    random.shuffle(order_);
    for (std::size_t begin = 0; begin < rows; begin += options_.batch) {
      step(support, std::span(order_).subspan(begin, std::min(options_.batch, rows - begin)),
           is_first);
      is_first = false;
    }
  }

  // From coordinates to vectors, with the norm and the scale of the logits worked in.
  for (std::size_t k = 0; k < support.ways; ++k) {
    const double* coordinates = position_.row(k) + rows;
    double* v = v_.row(k);
    for (std::size_t i = 0; i < v_.cols(); ++i) v[i] *= coordinates[rows];
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < v_.cols(); ++i) v[i] += coordinates[r] * support.rows.row(r)[i];
    const double factor = scale(support.ways) * weights_[k].g / std::sqrt(weights_[k].v_v);
    for (std::size_t i = 0; i < v_.cols(); ++i) v[i] *= factor;
  }
}

void CosineHead::start(const Support& support, LegacyRandom& random) {
  const kernels::HeadTable& kernels = kernels::head_kernels();
  const MatrixView<const double> rows = support.rows;
  const std::size_t count = rows.rows();
  if (v_.rows() != support.ways || v_.cols() != rows.cols() || order_.size() != count) {
    v_ = Matrix<double>(support.ways, rows.cols());
    gram_ = Matrix<double>(count, 2 * count + 1);
    position_ = Matrix<double>(support.ways, 2 * count + 1);
    momentum_ = Matrix<double>(support.ways, 2 * count + 1);
    weights_.resize(support.ways);
    logits_ = Matrix<double>(support.ways, options_.batch);
    order_.resize(count);
  }
  for (std::size_t r = 0; r < count; ++r) {
    kernels.dots(rows.row(r), rows.row(0), rows.stride(), count, rows.stride(), gram_.row(r));
    gram_.row(r)[count + r] = 1;
  }
  const double reach = 1 / std::sqrt(static_cast<double>(rows.cols()));
  for (std::size_t k = 0; k < support.ways; ++k) {
    double* v = v_.row(k);
    for (std::size_t i = 0; i < rows.cols(); ++i) v[i] = random.uniform(-reach, reach);
    double* position = position_.row(k);
    std::fill_n(position, position_.stride(), 0.0);
    kernels.dots(v, rows.row(0), rows.stride(), count, rows.stride(), position);
    position[2 * count] = 1;
    weights_[k] = {};
    kernels.dots(v, v, 0, 1, rows.stride(), &weights_[k].v_v);
    weights_[k].g = std::sqrt(weights_[k].v_v);
  }
}

void CosineHead::step(const Support& support, std::span<const std::size_t> batch, bool is_first) {
  const double logit_scale = scale(support.ways);
  for (std::size_t k = 0; k < support.ways; ++k) {
    const double factor = logit_scale * weights_[k].g / std::sqrt(weights_[k].v_v);
    for (std::size_t i = 0; i < batch.size(); ++i)
      logits_.row(k)[i] = factor * position_.row(k)[batch[i]];
  }
  kernels::head_kernels().softmax(logits_.row(0), support.ways, logits_.stride(), nullptr);
  for (std::size_t i = 0; i < batch.size(); ++i) logits_.row(support.label(batch[i]))[i] -= 1;
  batch_rows_.clear();
  for (const std::size_t row : batch) batch_rows_.push_back(gram_.row(row));
  for (std::size_t k = 0; k < support.ways; ++k) update(k, batch, is_first);
}

// With G = dL/dw = sum_i weight_i x_i:  dL/dg = G.v/|v|  and
// dL/dv = g/|v| (G - (G.v) v/|v|^2) + decay v = sum_i (g/|v| weight_i) x_i + pull v.
void CosineHead::update(std::size_t k, std::span<const std::size_t> batch, bool is_first) {
  Weight& w = weights_[k];
  const double* v_x = position_.row(k);
  const double* m_x = momentum_.row(k);
  const double norm = std::sqrt(w.v_v);
  const double share = scale(weights_.size()) / static_cast<double>(batch.size());
  batch_weights_.resize(batch.size());
  double along = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch_weights_[i] = share * logits_.row(k)[i];
    along += batch_weights_[i] * v_x[batch[i]];
  }
  const double g_gradient = along / norm + options_.weight_decay * w.g;
  const double pull = options_.weight_decay - w.g * along / (norm * w.v_v);
  double x_v = 0;
  double x_m = 0;
  double x_x = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch_weights_[i] *= w.g / norm;
    x_v += batch_weights_[i] * v_x[batch[i]];
    x_m += is_first ? 0 : batch_weights_[i] * m_x[batch[i]];
    for (std::size_t j = 0; j <= i; ++j)
      x_x += (i == j ? 1 : 2) * batch_weights_[i] * batch_weights_[j] * batch_rows_[i][batch[j]];
  }
  const double keep = is_first ? 0 : options_.momentum;
  const double take = is_first ? 1 : 1 - options_.dampening;

  // Dot products of the gradient d with itself, v and the momentum m; then m and v move.
  const double d_v = x_v + pull * w.v_v;
  const double d_m = x_m + pull * w.v_m;
  const double d_d = x_x + pull * (2 * x_v + pull * w.v_v);
  w.m_m = keep * keep * w.m_m + 2 * keep * take * d_m + take * take * d_d;
  w.v_m = keep * w.v_m + take * d_v;
  w.v_v += options_.rate * (options_.rate * w.m_m - 2 * w.v_m);
  w.v_m -= options_.rate * w.m_m;
  w.g_momentum = keep * w.g_momentum + take * g_gradient;
  w.g -= options_.rate * w.g_momentum;

  if (is_first) std::fill_n(momentum_.row(k), momentum_.stride(), 0.0);
  kernels::head_kernels().momentum_step({.keep = keep, .take = take, .rate = options_.rate},
                                        batch_rows_.data(), batch_weights_.data(), batch.size(),
                                        pull, position_.stride(), position_.row(k),
                                        momentum_.row(k));
}

void CosineHead::influence(const double* query, std::span<double> out) const {
  kernels::head_kernels().dots(query, v_.row(0), v_.stride(), v_.rows(), v_.stride(), out.data());
}

}  // namespace deepvoro
