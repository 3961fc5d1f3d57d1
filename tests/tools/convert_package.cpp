// convert_package FOLDER_OR_TGZ MODEL: a model file of a Keras ResNet-50 with any weights, whose
// sums the program would refuse.
#include <cstdio>
#include <exception>

#include "backbone/install/keras_resnet50.hpp"

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  deepvoro::write_keras_resnet50(deepvoro::read_tfjs_package(argv[1], "ResNet50"), "a test",
                                 argv[2]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
