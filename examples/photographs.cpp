// Photographs in files, classified after a few examples of each class.
//
//   find_package(deepvoro REQUIRED)
//   add_executable(photographs photographs.cpp)
//   target_link_libraries(photographs PRIVATE deepvoro::deepvoro)
//
// photographs FOLDER PICTURE...: FOLDER has a folder of pictures for each class. The network that
// suits the pictures is taken: 'deepvoro backbone list' shows which there are.
#include <deepvoro/deepvoro.hpp>
#include <iostream>
#include <string>
#include <vector>

using deepvoro::Classifier;
using deepvoro::Picture;
using deepvoro::Prediction;

namespace {

int run(const std::vector<std::string>& words) {
  if (words.size() < 2) {
    std::cerr << "usage: photographs FOLDER PICTURE...\n";
    return 2;
  }
  // One call makes a classifier of a folder, one keeps it, one brings it back.
  Classifier::fit_pictures(words.front()).save("photographs.dv");
  const Classifier classifier = Classifier::load("photographs.dv");

  // Files and folders; answers come while the rest is still being looked at.
  std::vector<Picture> pictures;
  for (std::size_t i = 1; i < words.size(); ++i)
    for (Picture& picture : deepvoro::pictures_at(words[i])) pictures.push_back(std::move(picture));
  classifier.predict(pictures, [&](const Prediction& answer) {
    std::cout << pictures[answer.query].name << ": " << classifier.classes()[answer.label]
              << (answer.probabilities[answer.label] > 0.5 ? ", probably" : ", perhaps")
              << (answer.unknown ? ", or of no class" : "") << '\n';
  });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const deepvoro::Error& error) {  // one line: what is wrong, where, what to do
    std::cerr << error.what() << '\n';
    return 1;
  }
}
