// A classifier made of features, kept in a file, and given one more class later.
//
//   find_package(deepvoro REQUIRED)
//   add_executable(features features.cpp)
//   target_link_libraries(features PRIVATE deepvoro::deepvoro)
#include <deepvoro/deepvoro.hpp>
#include <iostream>
#include <vector>

using deepvoro::Classifier;
using deepvoro::MatrixView;

namespace {

// One view of a picture: four features, as if a network had made them.
constexpr std::size_t kDim = 4;

int run() {
  // Two pictures of an owl, one of a wren.
  const std::vector<float> support{9, 1, 0, 2,   //
                                   8, 2, 1, 2,   //
                                   0, 1, 9, 3};  //
  const Classifier birds = Classifier::fit(
      {.classes = {"owl", "wren"}, .labels = {0, 0, 1}, .views = {support}, .dim = kDim});
  birds.save("birds.dv");

  // Later: a jay comes in, without the earlier pictures.
  const std::vector<float> jay{1, 9, 1, 1};
  const Classifier more =
      Classifier::load("birds.dv")
          .with({.classes = {"jay"}, .labels = {0}, .views = {jay}, .dim = kDim});

  const std::vector<float> queries{7, 2, 0, 1,   //
                                   1, 8, 2, 1};  //
  const std::vector<MatrixView<const float>> views{{queries.data(), 2, kDim}};
  for (const deepvoro::Prediction& answer : more.predict(views))
    std::cout << more.classes()[answer.label] << ' '
              << (answer.probabilities[answer.label] > 0.5 ? "probably" : "perhaps") << '\n';
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const deepvoro::Error& error) {  // one line: what is wrong, where, what to do
    std::cerr << error.what() << '\n';
    return 1;
  }
}
