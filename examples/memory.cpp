// Photographs in memory: the bytes of a file, as a request brings them, and pixels, as a camera
// does. They are classified, and become a class of their own.
//
//   find_package(deepvoro REQUIRED)
//   add_executable(memory memory.cpp)
//   target_link_libraries(memory PRIVATE deepvoro::deepvoro)
//
// memory CLASSIFIER PICTURE: CLASSIFIER was made by photographs.cpp or 'deepvoro fit'.
#include <deepvoro/deepvoro.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

using deepvoro::Classifier;
using deepvoro::Picture;
using deepvoro::Prediction;

namespace {

std::vector<std::byte> bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

int run(const std::vector<std::string>& words) {
  if (words.size() != 2) {
    std::cerr << "usage: memory CLASSIFIER PICTURE\n";
    return 2;
  }
  const Classifier classifier = Classifier::load(words[0]);

  // Pixels are RGB, row by row; any source of them will do.
  const std::vector<Picture> pictures{
      deepvoro::picture_from_bytes(bytes_of(words[1]), "bytes"),
      deepvoro::picture_from_pixels(deepvoro::read_bitmap(words[1]), "pixels")};
  const std::vector<Prediction> answers = classifier.predict(pictures);
  for (std::size_t i = 0; i < answers.size(); ++i)
    std::cout << pictures[i].name << ": " << classifier.classes()[answers[i].label] << '\n';

  // A classifier with one more class, made of the first picture.
  const Classifier more = classifier.with_pictures("new", {pictures.data(), 1});
  std::cout << "bytes again: " << more.classes()[more.predict(pictures).front().label] << '\n';
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
