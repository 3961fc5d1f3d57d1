#include "backbone/torch/optimiser.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace deepvoro {
namespace {

constexpr double kDecay = 0.1;
constexpr double kRates[] = {0.5, 0.25, 0.125};

// One number of a matrix, which decays, and one of a vector, such as those of normalisations, which
// does not.
struct Parameters {
  torch::Tensor matrix = torch::full({1, 1}, 2.0).set_requires_grad(true);
  torch::Tensor vector = torch::full({1}, 3.0).set_requires_grad(true);
  torch::Tensor statistic = torch::full({1}, 4.0);

  std::vector<NamedTensor> named() {
    return {{"matrix", &matrix, true}, {"vector", &vector, true}, {"statistic", &statistic, false}};
  }
  // The gradient of x^2/2 + x is x + 1.
  void set_gradients() {
    for (torch::Tensor* tensor : {&matrix, &vector}) tensor->mutable_grad() = tensor->detach() + 1;
  }
};

TEST(Optimiser, OfSgdIsNesterovsMomentumWithDecayOfMatrices) {
  Parameters parameters;
  Optimiser optimiser(parameters.named(), OptimiserKind::sgd, kDecay);
  double values[] = {2, 3};
  double momenta[] = {0, 0};
  for (const double rate : kRates) {
    parameters.set_gradients();
    optimiser.step(rate);
    EXPECT_FALSE(parameters.matrix.grad().defined());
    for (std::size_t i = 0; i < 2; ++i) {
      const double gradient = values[i] + 1 + (i == 0 ? kDecay * values[i] : 0);
      momenta[i] = 0.9 * momenta[i] + gradient;
      values[i] -= rate * (gradient + 0.9 * momenta[i]);
    }
    EXPECT_NEAR(parameters.matrix.item<double>(), values[0], 1e-5);
    EXPECT_NEAR(parameters.vector.item<double>(), values[1], 1e-5);
  }
  EXPECT_EQ(parameters.statistic.item<double>(), 4);
}

TEST(Optimiser, OfAdamDecaysMatricesApartFromTheStep) {
  Parameters parameters;
  Optimiser optimiser(parameters.named(), OptimiserKind::adam, kDecay);
  double values[] = {2, 3};
  double means[] = {0, 0};
  double squares[] = {0, 0};
  int number = 0;
  for (const double rate : kRates) {
    parameters.set_gradients();
    optimiser.step(rate);
    ++number;
    for (std::size_t i = 0; i < 2; ++i) {
      const double gradient = values[i] + 1;
      means[i] = 0.9 * means[i] + 0.1 * gradient;
      squares[i] = 0.999 * squares[i] + 0.001 * gradient * gradient;
      const double mean = means[i] / (1 - std::pow(0.9, number));
      const double square = squares[i] / (1 - std::pow(0.999, number));
      if (i == 0) values[i] *= 1 - rate * kDecay;
      values[i] -= rate * mean / (std::sqrt(square) + 1e-8);
    }
    EXPECT_NEAR(parameters.matrix.item<double>(), values[0], 1e-5);
    EXPECT_NEAR(parameters.vector.item<double>(), values[1], 1e-5);
  }
}

TEST(Optimiser, NamesItsStateAfterTheParameters) {
  Parameters parameters;
  Optimiser sgd(parameters.named(), OptimiserKind::sgd, 0);
  Optimiser adam(parameters.named(), OptimiserKind::adam, 0);
  const auto names = [](Optimiser& optimiser) {
    std::vector<std::string> all;
    for (const NamedTensor& entry : optimiser.state()) all.push_back(entry.name);
    return all;
  };
  EXPECT_EQ(names(sgd), (std::vector<std::string>{"optimiser.steps", "optimiser.momentum.matrix",
                                                  "optimiser.momentum.vector"}));
  EXPECT_EQ(names(adam),
            (std::vector<std::string>{"optimiser.steps", "optimiser.momentum.matrix",
                                      "optimiser.square.matrix", "optimiser.momentum.vector",
                                      "optimiser.square.vector"}));
}

}  // namespace
}  // namespace deepvoro
