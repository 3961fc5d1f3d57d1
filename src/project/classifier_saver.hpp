#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "project_snapshot.hpp"

namespace deepvoro {

// Keeps the file of a classifier as the last snapshot of its project has it: soon after changes,
// and at the end. Safe to share between threads.
class ClassifierSaver {
 public:
  struct Parts {
    std::filesystem::path file;
    std::function<std::shared_ptr<const ProjectSnapshot>()> last_snapshot;
    std::uint64_t saved = 0;  // revision that the file has
    // Told what went wrong in the background.
    std::function<void(const std::string& problem)> problem = {};
  };
  explicit ClassifierSaver(Parts parts);
  ClassifierSaver(const ClassifierSaver&) = delete;
  ClassifierSaver& operator=(const ClassifierSaver&) = delete;
  // Saves what is not saved yet, unless save() has just said that it cannot be.
  ~ClassifierSaver();

  // There is a new snapshot.
  void wake();
  // Now, where that is still to be done.
  void save();

 private:
  void write();
  void save_or_tell();
  void save_in_background();

  Parts parts_;
  std::mutex writing_;  // the file
  std::uint64_t saved_;
  std::uint64_t failed_ = 0;  // revision that save() could not write
  std::mutex guard_;
  std::condition_variable wakes_;
  bool is_dirty_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace deepvoro
