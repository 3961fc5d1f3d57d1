// Photographs classified after a few examples of each class, from files and from memory.
//
//   find_package(deepvoro REQUIRED)
//   add_executable(photographs photographs.cpp)
//   target_link_libraries(photographs PRIVATE deepvoro::deepvoro)
//
// photographs FOLDER PICTURE...: FOLDER has a folder of pictures for each class. The network that
// suits the pictures is taken: 'deepvoro backbone list' shows which there are.
#include <deepvoro/classifier/classifier.hpp>
#include <deepvoro/core/error.hpp>
#include <deepvoro/picture/decode.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

using deepvoro::Classifier;
using deepvoro::Picture;
using deepvoro::Prediction;

namespace {

void print(const std::string& picture, const Classifier& classifier, const Prediction& answer) {
  std::cout << picture << ": " << classifier.classes()[answer.label]
            << (answer.probabilities[answer.label] > 0.5 ? ", probably" : ", perhaps")
            << (answer.unknown ? ", or of no class" : "") << '\n';
}

// What a camera or a request might have left in memory.
std::vector<std::byte> bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 2) {
    std::cerr << "usage: photographs FOLDER PICTURE...\n";
    return 2;
  }
  // One call makes a classifier of a folder, one keeps it, one brings it back.
  Classifier::fit_pictures(words.front(), {.views = "1"}).save("photographs.dv");
  const Classifier classifier = Classifier::load("photographs.dv");

  // Files and folders; answers come while the rest is still being looked at.
  std::vector<Picture> pictures;
  for (std::size_t i = 1; i < words.size(); ++i)
    for (Picture& picture : deepvoro::pictures_at(words[i])) pictures.push_back(std::move(picture));
  classifier.predict(pictures, [&](std::size_t i, const Prediction& answer) {
    print(pictures[i].name, classifier, answer);
  });

  // The same from memory: the bytes of a file, and pixels, RGB row by row.
  const std::string& file = words.back();
  const std::vector<Picture> in_memory{
      deepvoro::picture_from_bytes(bytes_of(file), "bytes"),
      deepvoro::picture_from_pixels(deepvoro::read_bitmap(file), "pixels")};
  const std::vector<Prediction> answers = classifier.predict(in_memory);
  for (std::size_t i = 0; i < answers.size(); ++i) print(in_memory[i].name, classifier, answers[i]);

  // One more class, made of a picture in memory.
  const Classifier more = classifier.with_pictures("new", {in_memory.data(), 1});
  print("bytes again", more, more.predict({in_memory.data(), 1}).front());
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
