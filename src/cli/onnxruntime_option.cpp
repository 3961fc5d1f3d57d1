#include "onnxruntime_option.hpp"

#include <cstdlib>
#include <string>

namespace deepvoro {

void add_onnxruntime_option(CLI::App& app) {
  app.add_option_function<std::string>(
         "--onnxruntime",
         [](const std::string& path) {
           // Nothing else runs yet.
           ::setenv("DEEPVORO_ONNXRUNTIME", path.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
         },
         "libonnxruntime.so that runs networks in ONNX files [the installed one]")
      ->type_name("PATH");
}

}  // namespace deepvoro
