#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "class_name.hpp"
#include "core/files.hpp"
#include "deepvoro/picture/decode.hpp"
#include "picture/formats.hpp"
#include "project.hpp"
#include "project_error.hpp"

// How a project gets new pictures.
namespace deepvoro {
namespace {

std::string new_id() {
  std::random_device device;
  const std::uint64_t high = device();
  return fmt::format("{:016x}", high << 32U | device());
}

std::string pictures_text(std::size_t count) {
  return count == 1 ? "a picture" : fmt::format("{} pictures", count);
}

bool has_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  try {
    const MappedFile file(path);
    return std::ranges::equal(file.bytes(), bytes);
  } catch (const Error&) {  // somebody else has removed it
    return false;
  }
}

}  // namespace

std::future<PictureFeatures> Project::look_at(std::span<const std::byte> file,
                                              const std::string& name) {
  const auto release = [](std::counting_semaphore<>* taken) { taken->release(); };
  decoding_.acquire();
  const std::unique_ptr<std::counting_semaphore<>, decltype(release)> taken(&decoding_, release);
  return queue_->embed(decode_picture(file, name, {}, queue_->least_side()), name);
}

Project::SeenFeatures Project::look_at_all(const std::vector<NewPicture>& pictures,
                                           std::vector<std::string>& errors) {
  SeenFeatures features(pictures.size());
  std::vector<std::future<PictureFeatures>> pending(pictures.size());
  const auto attempt = [&](std::size_t i, const auto& what) {
    try {
      what();
    } catch (const ProjectError&) {
      throw;
    } catch (const Error& error) {
      errors[i] = error.what();
    }
  };
  for (std::size_t i = 0; i < pictures.size(); ++i)
    attempt(i, [&] { pending[i] = look_at(pictures[i].file, pictures[i].name); });
  for (std::size_t i = 0; i < pictures.size(); ++i)
    if (pending[i].valid())
      attempt(i, [&] { features[i] = std::make_shared<const PictureFeatures>(pending[i].get()); });
  return features;
}

// Equal files have equal features. Without files these have to do.
std::vector<const ProjectPicture*> Project::copies_of(const NewPicture& picture,
                                                      const PictureFeatures& features) const {
  std::vector<const ProjectPicture*> copies;
  for (const auto& [id, known] : contents_.pictures()) {
    if (*known.features != features) continue;
    if (contents_.folder() && !has_bytes(contents_.folder()->file_of(known.home), picture.file))
      continue;
    copies.push_back(&known);
  }
  return copies;
}

void Project::make_class(const std::string& name, ProjectChange& change) {
  if (contents_.classes().contains(name)) return;
  check_class_name(name, class_list());
  const ClassStep made{{}, name};
  contents_.apply({{}, {made}});
  change.steps.emplace_back(made);
}

void Project::add_all(const std::vector<NewPicture>& pictures, const SeenFeatures& features,
                      Taught& taught, ProjectChange& change) {
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    if (!features[i]) continue;
    const auto& [class_name, name, file] = pictures[i];
    const std::vector<const ProjectPicture*> copies = copies_of(pictures[i], *features[i]);
    const auto same = std::ranges::find(
        copies, class_name, [](const ProjectPicture* copy) { return copy->home.class_name; });
    if (same != copies.end()) {
      taught.ids[i] = (*same)->id;
      taught.known[i] = true;
      continue;
    }
    for (const ProjectPicture* copy : copies)
      taught.notes.push_back(
          fmt::format("{} is the same picture as {}/{}; remove it from the wrong class", name,
                      copy->home.class_name, copy->home.name));
    make_class(class_name, change);
    const std::string id = new_id();
    const PictureHome home{class_name, id + picture_kind(file, name).ending};
    contents_.add({id, home, next_order_++, features[i]}, file);
    change.steps.emplace_back(PictureStep{id, {}, home});
    taught.ids[i] = id;
  }
}

Project::Taught Project::teach(const std::vector<NewPicture>& pictures, const std::string& group,
                               const std::vector<std::string>& classes) {
  std::set<std::string> names(classes.begin(), classes.end());
  for (const NewPicture& picture : pictures) names.insert(picture.class_name);
  {
    const Lock lock(guard_);
    const std::vector<std::string> known = class_list();
    for (const std::string& name : names) check_class_name(name, known);
  }
  Taught taught{.ids = std::vector<std::string>(pictures.size()),
                .errors = std::vector<std::string>(pictures.size()),
                .known = std::vector<bool>(pictures.size()),
                .notes = {}};
  const SeenFeatures features = look_at_all(pictures, taught.errors);

  Lock lock(guard_);
  taught.revision = revision_;
  ProjectChange change{.what = {}, .steps = {}, .group = group};
  try {
    add_all(pictures, features, taught, change);
    for (const std::string& name : classes) make_class(name, change);
  } catch (...) {
    contents_.apply(inverse(change));
    throw;
  }
  if (change.steps.empty()) return taught;
  const auto added = std::ranges::count_if(change.steps, [](const ProjectStep& step) {
    return std::holds_alternative<PictureStep>(step);
  });
  const std::string of_class = names.size() == 1 ? " of " + *names.begin() : "";
  change.what = added == 0 ? "add classes"
                           : fmt::format("teach {}{}",
                                         pictures_text(static_cast<std::size_t>(added)), of_class);
  taught.revision = did(std::move(lock), change);
  return taught;
}

}  // namespace deepvoro
