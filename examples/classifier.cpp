// A classifier made of features, kept in a file, and given one more class later.
//
//   find_package(deepvoro REQUIRED)
//   add_executable(example classifier.cpp)
//   target_link_libraries(example PRIVATE deepvoro::deepvoro)
//
// Of photographs: see photographs.cpp, which needs the backbone library; everything here works
// without it.
#include <deepvoro/classifier/classifier.hpp>
#include <deepvoro/core/error.hpp>
#include <iostream>

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
  const Classifier birds = Classifier::fit({.classes = {"owl", "wren"},
                                            .labels = {0, 0, 1},
                                            .names = {"owl1.jpg", "owl2.jpg", "wren.jpg"},
                                            .views = {support},
                                            .dim = kDim},
                                           {.views = {"s84_r0_f0"}, .pool = {}, .origin = {}});
  birds.save("birds.dv");

  // Later: a jay comes in, without the earlier pictures.
  const std::vector<float> jay{1, 9, 1, 1};
  const Classifier more = Classifier::load("birds.dv")
                              .with({.classes = {"jay"},
                                     .labels = {0},
                                     .names = {"jay.jpg"},
                                     .views = {jay},
                                     .dim = kDim});
  more.save("birds.dv");

  const std::vector<float> queries{7, 2, 0, 1,   //
                                   1, 8, 2, 1};  //
  const std::vector<MatrixView<const float>> views{{queries.data(), 2, kDim}};
  for (const deepvoro::Prediction& prediction : more.predict(views))
    std::cout << more.classes()[prediction.label] << ' '
              << (prediction.probabilities[prediction.label] > 0.5 ? "probably" : "perhaps")
              << '\n';
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
