#pragma once

#include <cstddef>
#include <span>

#include "core/matrix.hpp"

namespace deepvoro {

// How alike points of different classes are, by the products of two of unit length, every class
// counting the same. It is known after one sample of each class, and tells what is usual in this
// space of this network: how far samples are from their classes, and how sure answers are.
struct ClassLikeness {
  // What the deviation is thought to be before any classes are seen, and as many pairs of classes
  // as that counts for.
  struct Prior {
    double deviation = 0.11;
    double pairs = 2;
  };
  double mean = 0;
  double deviation = 0.075;  // of the products; this one where there is a single class

  // `products`: of all points with each other; every class has a point.
  [[nodiscard]] static ClassLikeness of(const Matrix<double>& products,
                                        std::span<const std::size_t> labels, std::size_t classes,
                                        const Prior& prior);

  // What |point - mean of its class|^2 is on average.
  [[nodiscard]] double usual_variance() const;
  // The temperature that suits so many samples of each class.
  [[nodiscard]] double usual_temperature(double shots, std::size_t classes) const;
};

}  // namespace deepvoro
