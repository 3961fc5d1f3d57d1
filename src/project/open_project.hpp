#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "deepvoro/core/progress.hpp"
#include "project.hpp"

namespace deepvoro {

// A picture for a project that is new.
struct ReadyMadePicture {
  std::string class_name;
  std::string name;
  std::span<const std::byte> file;
};

struct ProjectOptions {
  // A folder, or a classifier's file (.dv). A folder that is not there becomes a new project.
  std::filesystem::path path;
  std::string backbone =
      {};  // name or file; empty: the classifier's own, or what suits the pictures
  bool read_only = false;
  EmbeddingQueue::Limits limits = {};
  std::vector<ReadyMadePicture> ready_made = {};  // of a new project
  Progress progress = {};                         // of looking at pictures that are new
  // Told what could not be read or saved.
  std::function<void(const std::string& problem)> problem = {};
};

// Makes the classifier agree with the pictures that are there. Only those are looked at that it
// does not know, or that changed after it was saved.
[[nodiscard]] std::unique_ptr<Project> open_project(const ProjectOptions& options);

// The same with a network that is given, and what classifiers of it are made like.
struct ProjectNetwork {
  ClassifierOptions options;
  std::shared_ptr<EmbeddingQueue> queue;
};
[[nodiscard]] std::unique_ptr<Project> open_project(const ProjectOptions& options,
                                                    const ProjectNetwork& network);

}  // namespace deepvoro
