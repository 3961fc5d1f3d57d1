#include "classifier_saver.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace deepvoro {
namespace {

constexpr auto kSavingPause = std::chrono::milliseconds(300);

}  // namespace

ClassifierSaver::ClassifierSaver(Parts parts) : parts_(std::move(parts)), saved_(parts_.saved) {
  thread_ = std::thread([this] { save_in_background(); });
}

ClassifierSaver::~ClassifierSaver() {
  {
    const std::scoped_lock lock(guard_);
    ends_ = true;
  }
  wakes_.notify_all();
  thread_.join();
  if (parts_.last_snapshot()->revision != failed_) save_or_tell();
}

void ClassifierSaver::wake() {
  {
    const std::scoped_lock lock(guard_);
    is_dirty_ = true;
  }
  wakes_.notify_all();
}

void ClassifierSaver::save() {
  const std::scoped_lock lock(writing_);
  try {
    write();
  } catch (...) {
    failed_ = parts_.last_snapshot()->revision;
    throw;
  }
}

void ClassifierSaver::write() {
  const std::shared_ptr<const ProjectSnapshot> current = parts_.last_snapshot();
  if (saved_ == current->revision) return;
  std::error_code ignored;
  if (current->classifier)
    current->classifier->save(parts_.file);
  else
    std::filesystem::remove(parts_.file, ignored);
  saved_ = current->revision;
}

void ClassifierSaver::save_or_tell() {
  const std::scoped_lock lock(writing_);
  try {
    write();
  } catch (const std::exception& error) {
    if (parts_.problem) parts_.problem(error.what());
  }
}

void ClassifierSaver::save_in_background() {
  std::unique_lock lock(guard_);
  for (;;) {
    wakes_.wait(lock, [this] { return ends_ || is_dirty_; });
    if (ends_) return;
    is_dirty_ = false;
    // More changes mostly come at once.
    if (wakes_.wait_for(lock, kSavingPause, [this] { return ends_; })) return;
    lock.unlock();
    save_or_tell();
    lock.lock();
  }
}

}  // namespace deepvoro
