#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/matrix.hpp"
#include "kernels/head_kernels.hpp"

namespace deepvoro {

// Minimises a smooth function by L-BFGS with a line search that ends at the weak Wolfe conditions.
// `precondition(gradient)` multiplies in place with a guess of the inverse Hessian, up to a factor:
// a good one saves iterations and changes nothing else. Reuse an object to reuse its memory.
class Lbfgs {
 public:
  struct Options {
    std::size_t history = 10;
    double gradient_tolerance = 1e-4;  // on the largest element of the gradient
    std::size_t most_iterations = 1000;
  };
  struct Outcome {
    double value = 0;
    double largest_gradient = 0;
    std::size_t iterations = 0;
    std::size_t evaluations = 0;
  };

  // `size`: number of variables, padded as rows are; what is beyond one's own must stay zero.
  Lbfgs(std::size_t size, const Options& options)
      : options_(options),
        size_(size),
        moves_(options.history, size),
        changes_(options.history, size),
        curvatures_(options.history),
        factors_(options.history),
        trial_(1, size),
        conditioned_(1, size),
        gradients_(2, size),
        direction_(1, size) {}

  // `function(x, gradient)` returns the value at x and fills in the gradient. x is the start and
  // becomes the result.
  template <class Function, class Precondition>
  Outcome minimise(const Function& function, const Precondition& precondition, double* x) {
    double* gradient = gradients_.row(0);
    Outcome outcome;
    outcome.value = function(x, gradient);
    outcome.evaluations = 1;
    kept_ = 0;
    newest_ = options_.history - 1;
    for (; outcome.iterations < options_.most_iterations; ++outcome.iterations) {
      outcome.largest_gradient = largest(gradient);
      if (outcome.largest_gradient <= options_.gradient_tolerance) break;
      choose_direction(gradient, precondition);
      if (search(function, x, outcome)) continue;
      if (kept_ == 0) break;  // not even downhill does it get better: as good as rounding allows
      kept_ = 0;
    }
    return outcome;
  }

 private:
  double dot(const double* a, const double* b) const {
    double result = 0;
    kernels::head_kernels().dots(a, b, 0, 1, size_, &result);
    return result;
  }

  double largest(const double* values) const {
    double result = 0;
    for (std::size_t i = 0; i < size_; ++i) result = std::max(result, std::abs(values[i]));
    return result;
  }

  void add(double factor, const double* from, double* to) const {
    kernels::head_kernels().add_multiple(factor, from, size_, to);
  }

  // Minus the inverse Hessian that the last moves suggest, times the gradient.
  template <class Precondition>
  void choose_direction(const double* gradient, const Precondition& precondition) {
    double* d = direction_.row(0);
    for (std::size_t i = 0; i < size_; ++i) d[i] = -gradient[i];
    const std::size_t history = options_.history;
    for (std::size_t age = 0; age < kept_; ++age) {
      const std::size_t at = (newest_ + history - age) % history;
      factors_[at] = dot(moves_.row(at), d) / curvatures_[at];
      add(-factors_[at], changes_.row(at), d);
    }
    precondition(d);
    if (kept_ > 0) {
      double* change = conditioned_.row(0);
      std::copy_n(changes_.row(newest_), size_, change);
      precondition(change);
      const double scale = curvatures_[newest_] / dot(changes_.row(newest_), change);
      for (std::size_t i = 0; i < size_; ++i) d[i] *= scale;
    }
    for (std::size_t age = kept_; age-- > 0;) {
      const std::size_t at = (newest_ + history - age) % history;
      add(factors_[at] - dot(changes_.row(at), d) / curvatures_[at], moves_.row(at), d);
    }
  }

  // Moves x along the direction to a point that is lower and less steep, or leaves it where it is.
  template <class Function>
  bool search(const Function& function, double* x, Outcome& outcome) {
    constexpr int most_trials = 30;
    constexpr double least_descent = 1e-4;  // of what the slope promises
    constexpr double least_flattening = 0.9;
    constexpr double rounding = 1e-6;  // relative, of a value
    const double* d = direction_.row(0);
    double* gradient = gradients_.row(0);
    double* trial = trial_.row(0);
    double* trial_gradient = gradients_.row(1);
    const double slope = dot(gradient, d);
    if (!(slope < 0)) return false;

    double low = 0;
    double low_slope = slope;
    double high = 0;  // 0: none yet
    double high_slope = 0;
    double step = kept_ > 0 ? 1 : std::min(1.0, 1 / std::sqrt(dot(d, d)));
    for (int i = 0; i < most_trials; ++i) {
      for (std::size_t j = 0; j < size_; ++j) trial[j] = x[j] + step * d[j];
      const double value = function(trial, trial_gradient);
      ++outcome.evaluations;
      const double trial_slope = dot(trial_gradient, d);
      // Where rounding hides the descent, the slope stands in for it.
      const bool descends = value <= outcome.value + least_descent * step * slope ||
                            (value <= outcome.value + rounding * std::abs(outcome.value) &&
                             trial_slope <= (2 * least_descent - 1) * slope);
      if (descends && trial_slope >= least_flattening * slope) {
        remember(x, trial, gradient, trial_gradient);
        std::copy_n(trial, size_, x);
        std::copy_n(trial_gradient, size_, gradient);
        outcome.value = value;
        return true;
      }
      if (descends) {
        low = step;
        low_slope = trial_slope;
      } else {
        high = step;
        high_slope = trial_slope;
      }
      if (high == 0) {
        step *= 4;
        continue;
      }
      // Where the slope, taken as linear between both ends, is zero; well inside.
      const double share = high_slope > 0 ? low_slope / (low_slope - high_slope) : 0.5;
      step = low + std::clamp(share, 0.1, 0.9) * (high - low);
    }
    return false;
  }

  void remember(const double* x, const double* new_x, const double* gradient,
                const double* new_gradient) {
    const std::size_t at = (newest_ + 1) % options_.history;
    double* move = moves_.row(at);
    double* change = changes_.row(at);
    for (std::size_t i = 0; i < size_; ++i) {
      move[i] = new_x[i] - x[i];
      change[i] = new_gradient[i] - gradient[i];
    }
    const double curvature = dot(move, change);
    if (!(curvature > 0)) return;
    curvatures_[at] = curvature;
    newest_ = at;
    kept_ = std::min(kept_ + 1, options_.history);
  }

  Options options_;
  std::size_t size_;
  std::size_t kept_ = 0;
  std::size_t newest_ = 0;
  Matrix<double> moves_, changes_;  // [history x size], a ring
  std::vector<double> curvatures_, factors_;
  Matrix<double> trial_, conditioned_, gradients_, direction_;
};

}  // namespace deepvoro
