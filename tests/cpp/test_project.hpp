#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "colour_network.hpp"
#include "deepvoro/picture/view.hpp"
#include "project/open_project.hpp"
#include "test_pictures.hpp"

namespace deepvoro::test {

inline const std::vector<std::string> kProjectViews{"s16_r0_f0", "s16_r0_f1"};

inline ProjectNetwork colour_network(std::size_t most_waiting = 100, NetworkInput input = {}) {
  ProjectNetwork network;
  network.options.views = kProjectViews;
  std::vector<View> views;
  for (const std::string& name : kProjectViews) views.push_back(view_named(name));
  network.queue = std::make_shared<EmbeddingQueue>(
      [] { return std::make_unique<ColourNetwork>(); }, views,
      EmbeddingQueue::Limits{.networks = 2, .most_waiting = most_waiting}, input);
  return network;
}

inline std::unique_ptr<Project> open_test_project(const std::filesystem::path& path,
                                                  bool read_only = false) {
  return open_project({.path = path, .read_only = read_only}, colour_network());
}

// A PNG file in which one colour is strong.
inline std::string coloured_png(std::size_t colour, std::uint32_t seed) {
  Bitmap bitmap = random_picture(24, 20, seed);
  for (std::size_t i = 0; i < bitmap.pixels.size(); ++i)
    bitmap.pixels[i] =
        static_cast<std::uint8_t>(bitmap.pixels[i] / 2 + (i % 3 == colour ? 127 : 0));
  return png_bytes(bitmap);
}

inline Project::Taught teach_one(Project& project, const std::string& class_name,
                                 const std::string& file, const std::string& group = {}) {
  return project.teach({{class_name, "picture", std::as_bytes(std::span(file))}}, group);
}

}  // namespace deepvoro::test
