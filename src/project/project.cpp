#include "project.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <utility>

#include "class_name.hpp"
#include "core/files.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/picture/decode.hpp"
#include "picture/formats.hpp"
#include "project_error.hpp"

namespace deepvoro {
namespace {

// Large pictures take much memory while they are decoded.
constexpr std::ptrdiff_t kDecodedAtOnce = 2;
constexpr std::size_t kMostUndone = 200;
constexpr auto kSavingPause = std::chrono::milliseconds(300);

std::string new_id() {
  std::random_device device;
  const std::uint64_t high = device();
  return fmt::format("{:016x}", high << 32U | device());
}

std::string pictures_text(std::size_t count) {
  return count == 1 ? "a picture" : fmt::format("{} pictures", count);
}

NamedSamples samples_of(const std::map<std::string, ProjectPicture>& pictures) {
  NamedSamples samples;
  std::map<std::string, std::size_t> labels;
  for (const auto& [id, picture] : pictures) labels.try_emplace(picture.home.class_name, 0);
  for (auto& [name, label] : labels) {
    label = samples.classes.size();
    samples.classes.push_back(name);
  }
  for (const auto& [id, picture] : pictures) {
    samples.labels.push_back(labels.at(picture.home.class_name));
    samples.names.push_back(picture.home.name);
    samples.views.resize(picture.features->size());
    for (std::size_t v = 0; v < samples.views.size(); ++v) {
      const std::vector<float>& row = (*picture.features)[v];
      samples.dim = row.size();
      samples.views[v].insert(samples.views[v].end(), row.begin(), row.end());
    }
  }
  return samples;
}

std::vector<std::string> ids_of_samples(const Classifier& classifier,
                                        const std::map<std::string, ProjectPicture>& pictures) {
  std::map<std::pair<std::string, std::string>, std::string> ids;
  for (const auto& [id, picture] : pictures) ids[{picture.home.class_name, picture.home.name}] = id;
  std::vector<std::string> of_samples;
  for (std::size_t i = 0; i < classifier.labels().size(); ++i)
    of_samples.push_back(
        ids.at({classifier.classes()[classifier.labels()[i]], classifier.names()[i]}));
  return of_samples;
}

}  // namespace

bool ProjectSnapshot::has_class(const std::string& name) const {
  return std::ranges::binary_search(classes, name);
}

const ProjectPicture& ProjectSnapshot::picture(const std::string& id) const {
  const auto found = pictures.find(id);
  if (found == pictures.end()) throw ProjectError(Refusal::missing, "there is no such picture");
  return found->second;
}

std::vector<const ProjectPicture*> ProjectSnapshot::pictures_of(const std::string& name) const {
  if (!has_class(name))
    throw ProjectError(Refusal::missing, fmt::format("there is no class '{}'", name));
  std::vector<const ProjectPicture*> found;
  for (const auto& [id, picture] : pictures)
    if (picture.home.class_name == name) found.push_back(&picture);
  std::ranges::sort(found, std::ranges::greater(), [](const auto* one) { return one->order; });
  return found;
}

Project::Project(Parts parts)
    : options_(std::move(parts.options)),
      classifier_file_(std::move(parts.classifier_file)),
      queue_(std::move(parts.queue)),
      read_only_(parts.read_only),
      problem_(std::move(parts.problem)),
      decoding_(kDecodedAtOnce),
      contents_(std::move(parts.contents)) {
  for (const auto& [id, picture] : contents_.pictures())
    next_order_ = std::max(next_order_, picture.order + 1);
  if (parts.fitted) {
    const std::shared_ptr<ProjectSnapshot> first = copied();
    first->classifier = std::move(parts.fitted);
    first->sample_ids = ids_of_samples(*first->classifier, first->pictures);
    snapshot_ = first;
    saved_ = revision_;
  } else {
    publish(revision_);
  }
  saver_ = std::thread([this] { save_in_background(); });
}

Project::~Project() {
  {
    const std::scoped_lock lock(saver_guard_);
    ends_ = true;
  }
  saver_wakes_.notify_all();
  saver_.join();
  try {
    save();
  } catch (const std::exception& error) {
    if (problem_) problem_(error.what());
  }
}

std::shared_ptr<const ProjectSnapshot> Project::snapshot() const {
  const std::scoped_lock lock(snapshot_guard_);
  return snapshot_;
}

std::filesystem::path Project::pictures_folder() const {
  return contents_.folder() ? contents_.folder()->pictures() : std::filesystem::path();
}

std::future<PictureFeatures> Project::look_at(std::span<const std::byte> file,
                                              const std::string& name) {
  const auto release = [](std::counting_semaphore<>* taken) { taken->release(); };
  decoding_.acquire();
  const std::unique_ptr<std::counting_semaphore<>, decltype(release)> taken(&decoding_, release);
  return queue_->embed(decode_picture(file, name), name);
}

std::vector<std::byte> Project::file_of(const std::string& id) const {
  const auto& folder = contents_.folder();
  const PictureHome home = snapshot()->picture(id).home;
  if (!folder)
    throw ProjectError(Refusal::missing, "a classifier without a folder has no pictures to show");
  const auto bytes_at = [&](const PictureHome& place) -> std::vector<std::byte> {
    const MappedFile file(folder->file_of(place));
    return {file.bytes().begin(), file.bytes().end()};
  };
  try {
    return bytes_at(home);
  } catch (const Error&) {  // a change that is under way has moved it
    const Lock lock(guard_);
    const auto found = contents_.pictures().find(id);
    if (found == contents_.pictures().end())
      throw ProjectError(Refusal::missing, "there is no such picture");
    return bytes_at(found->second.home);
  }
}

Project::Taught Project::teach(const std::vector<NewPicture>& pictures, const std::string& group) {
  std::set<std::string> names;
  for (const NewPicture& picture : pictures) names.insert(picture.class_name);
  {
    const Lock lock(guard_);
    for (const std::string& name : names) check_class_name(name, class_list());
  }
  Taught taught{.ids = std::vector<std::string>(pictures.size()),
                .errors = std::vector<std::string>(pictures.size())};
  std::vector<std::shared_ptr<const PictureFeatures>> features(pictures.size());
  std::vector<std::future<PictureFeatures>> pending(pictures.size());
  const auto attempt = [&](std::size_t i, const auto& what) {
    try {
      what();
    } catch (const ProjectError&) {
      throw;
    } catch (const Error& error) {
      taught.errors[i] = error.what();
    }
  };
  for (std::size_t i = 0; i < pictures.size(); ++i)
    attempt(i, [&] { pending[i] = look_at(pictures[i].file, pictures[i].name); });
  for (std::size_t i = 0; i < pictures.size(); ++i)
    if (pending[i].valid())
      attempt(i, [&] { features[i] = std::make_shared<const PictureFeatures>(pending[i].get()); });

  Lock lock(guard_);
  taught.revision = revision_;
  ProjectChange change{.what = {}, .steps = {}, .group = group};
  try {
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      if (!features[i]) continue;
      const auto& [class_name, name, file] = pictures[i];
      if (!contents_.classes().contains(class_name)) {
        check_class_name(class_name, class_list());
        const ClassStep made{{}, class_name};
        contents_.apply({{}, {made}});
        change.steps.emplace_back(made);
      }
      const std::string id = new_id();
      const PictureHome home{class_name, id + picture_kind(file, name).ending};
      contents_.add({id, home, next_order_++, features[i]}, file);
      change.steps.emplace_back(PictureStep{id, {}, home});
      taught.ids[i] = id;
    }
  } catch (...) {
    contents_.apply(inverse(change));
    throw;
  }
  if (change.steps.empty()) return taught;
  const auto added = pictures.size() - static_cast<std::size_t>(std::ranges::count(taught.ids, ""));
  change.what = fmt::format("teach {}{}", pictures_text(added),
                            names.size() == 1 ? " of " + *names.begin() : "");
  taught.revision = did(std::move(lock), std::move(change));
  return taught;
}

std::uint64_t Project::add_class(const std::string& name) {
  Lock lock(guard_);
  check_class_name(name, class_list());
  if (contents_.classes().contains(name))
    throw ProjectError(Refusal::invalid, fmt::format("there is a class '{}' already", name));
  return change(std::move(lock), {"add " + name, {ClassStep{{}, name}}});
}

std::uint64_t Project::remove_class(const std::string& name) {
  Lock lock(guard_);
  check_has_class(name);
  // No class begins with a dot.
  const ClassStep step{name, {}, fmt::format(".class-{}", removed_classes_++)};
  return change(std::move(lock), {"remove " + name, {step}});
}

std::uint64_t Project::rename_class(const std::string& name, const std::string& to) {
  Lock lock(guard_);
  check_has_class(name);
  if (name == to) return revision_;
  std::vector<std::string> others = class_list();
  std::erase(others, name);
  check_class_name(to, others);
  if (contents_.classes().contains(to))
    throw ProjectError(Refusal::invalid, fmt::format("there is a class '{}' already", to));
  return change(std::move(lock), {fmt::format("rename {} to {}", name, to), {ClassStep{name, to}}});
}

std::uint64_t Project::remove_picture(const std::string& id) {
  Lock lock(guard_);
  const auto found = contents_.pictures().find(id);
  if (found == contents_.pictures().end())
    throw ProjectError(Refusal::missing, "there is no such picture");
  const PictureHome home = found->second.home;
  return change(std::move(lock),
                {"remove a picture of " + home.class_name, {PictureStep{id, home, {}}}});
}

std::uint64_t Project::move_picture(const std::string& id, const std::string& to) {
  Lock lock(guard_);
  const auto found = contents_.pictures().find(id);
  if (found == contents_.pictures().end())
    throw ProjectError(Refusal::missing, "there is no such picture");
  const PictureHome home = found->second.home;
  if (home.class_name == to) return revision_;
  check_class_name(to, class_list());
  ProjectChange moved{fmt::format("move a picture from {} to {}", home.class_name, to), {}};
  if (!contents_.classes().contains(to)) moved.steps.emplace_back(ClassStep{{}, to});
  moved.steps.emplace_back(
      PictureStep{id, home, PictureHome{to, contents_.free_name(to, found->second)}});
  return change(std::move(lock), std::move(moved));
}

Project::Done Project::undo() {
  return go_back(done_, undone_, "undone");
}

Project::Done Project::redo() {
  return go_back(undone_, done_, "done again");
}

Project::Done Project::go_back(std::vector<ProjectChange>& from, std::vector<ProjectChange>& to,
                               const char* what) {
  Lock lock(guard_);
  if (from.empty())
    throw ProjectError(Refusal::invalid, fmt::format("there is nothing that can be {}", what));
  const ProjectChange back = inverse(from.back());
  contents_.apply(back);
  from.pop_back();
  to.push_back(back);
  const std::uint64_t revision = ++revision_;
  lock.unlock();
  publish(revision);
  if (!has_files()) save();
  return {revision, back.what};
}

std::uint64_t Project::change(Lock lock, ProjectChange change) {
  contents_.apply(change);
  return did(std::move(lock), std::move(change));
}

std::uint64_t Project::did(Lock lock, ProjectChange change) {
  if (!change.group.empty() && !done_.empty() && done_.back().group == change.group) {
    std::vector<ProjectStep>& steps = done_.back().steps;
    steps.insert(steps.end(), change.steps.begin(), change.steps.end());
    done_.back().what = "teach pictures";
  } else {
    done_.push_back(change);
  }
  if (done_.size() > kMostUndone) done_.erase(done_.begin());
  undone_.clear();
  const std::uint64_t revision = ++revision_;
  lock.unlock();
  publish(revision);
  if (has_files()) return revision;
  try {
    save();
  } catch (const Error& error) {
    revert(change);
    throw ProjectError(Refusal::storage, error.what());
  }
  return revision;
}

// A change that could not be saved. Where others came after it, it stays: they have it in them.
void Project::revert(const ProjectChange& change) {
  Lock lock(guard_);
  if (done_.empty() || done_.back().what != change.what || !change.group.empty()) return;
  contents_.apply(inverse(change));
  done_.pop_back();
  const std::uint64_t revision = ++revision_;
  lock.unlock();
  publish(revision);
}

// Changes that come while one is fitted are fitted together.
void Project::publish(std::uint64_t revision) {
  const std::scoped_lock fitting(fitting_);
  if (const auto current = snapshot(); current && current->revision >= revision) return;
  std::shared_ptr<ProjectSnapshot> next;
  {
    const Lock lock(guard_);
    next = copied();
  }
  if (!next->pictures.empty()) {
    next->classifier = std::make_shared<const Classifier>(
        Classifier::fit(samples_of(next->pictures), options_, available_threads()));
    next->sample_ids = ids_of_samples(*next->classifier, next->pictures);
  }
  {
    const std::scoped_lock lock(snapshot_guard_);
    snapshot_ = next;
  }
  {
    const std::scoped_lock lock(saver_guard_);
    is_dirty_ = true;
  }
  saver_wakes_.notify_all();
}

std::shared_ptr<ProjectSnapshot> Project::copied() const {
  auto copy = std::make_shared<ProjectSnapshot>();
  copy->revision = revision_;
  copy->classes = class_list();
  copy->pictures = contents_.pictures();
  if (!done_.empty()) copy->undo = done_.back().what;
  if (!undone_.empty()) copy->redo = undone_.back().what;
  return copy;
}

void Project::check_has_class(const std::string& name) const {
  if (!contents_.classes().contains(name))
    throw ProjectError(Refusal::missing, fmt::format("there is no class '{}'", name));
}

std::vector<std::string> Project::class_list() const {
  return {contents_.classes().begin(), contents_.classes().end()};
}

void Project::save() {
  const std::scoped_lock lock(writing_);
  const std::shared_ptr<const ProjectSnapshot> current = snapshot();
  if (read_only_ || saved_ == current->revision) return;
  std::error_code ignored;
  if (current->classifier)
    current->classifier->save(classifier_file_);
  else
    std::filesystem::remove(classifier_file_, ignored);
  saved_ = current->revision;
}

void Project::save_in_background() {
  std::unique_lock lock(saver_guard_);
  for (;;) {
    saver_wakes_.wait(lock, [this] { return ends_ || is_dirty_; });
    if (ends_) return;
    is_dirty_ = false;
    // More changes mostly come at once.
    if (saver_wakes_.wait_for(lock, kSavingPause, [this] { return ends_; })) return;
    lock.unlock();
    try {
      save();
    } catch (const std::exception& error) {
      if (problem_) problem_(error.what());
    }
    lock.lock();
  }
}

}  // namespace deepvoro
