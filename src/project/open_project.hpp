#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
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

// What lies at a path, before its network is loaded. A data error where that is no project, or one
// that cannot be opened: a classifier that is missing or damaged, another file, a folder that
// another process has or that nothing can be written to, a network that is not installed. Nothing
// stays written.
struct FoundProject {
  std::optional<Classifier> saved;  // as the project was served last
  std::string backbone;             // name or file
  bool is_new = false;              // nothing is there yet
};
[[nodiscard]] FoundProject find_project(const ProjectOptions& options);

// Makes the classifier agree with the pictures that are there. Only those are looked at that it
// does not know, or that changed after it was saved.
[[nodiscard]] std::unique_ptr<Project> open_project(const ProjectOptions& options,
                                                    const FoundProject& found);

// The same with a network that is given, and what classifiers of it are made like.
struct ProjectNetwork {
  ClassifierOptions options;
  std::shared_ptr<EmbeddingQueue> queue;
};
[[nodiscard]] std::unique_ptr<Project> open_project(const ProjectOptions& options,
                                                    const ProjectNetwork& network);

}  // namespace deepvoro
