#include "open_project.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "classifier/backbone_choice.hpp"
#include "classifier/opened_backbone.hpp"
#include "core/files.hpp"
#include "core/sha256.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/picture/decode.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using Found = ProjectFolder::Found;

constexpr const char* kViews = "4";  // as deepvoro fit

bool is_classifier_file(const fs::path& path) {
  std::error_code ignored;
  return path.extension() == ".dv" && !fs::is_directory(path, ignored);
}

bool is_new_folder(const fs::path& path) {
  std::error_code ignored;
  return !fs::exists(path, ignored) ||
         (fs::is_directory(path, ignored) && fs::is_empty(path, ignored));
}

ProjectFolder folder_at(const ProjectOptions& options) {
  return {options.path,
          options.read_only ? ProjectFolder::Access::read_only : ProjectFolder::Access::changes};
}

std::optional<Classifier> classifier_at(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  return Classifier::load(file);
}

ProjectNetwork network_for(OpenedBackbone opened, std::optional<ClassifierOptions> known,
                           const EmbeddingQueue::Limits& limits) {
  ProjectNetwork network;
  if (known) {
    network.options = *std::move(known);
  } else {
    network.options.origin = opened.origin;
    network.options.statistics = statistics_of_network(opened.origin.sha256, opened.file);
    for (const View& view : parse_views(kViews, SizeRule::release, opened.network->input_size()))
      network.options.views.push_back(name(view));
  }
  std::vector<View> views;
  for (const std::string& view : network.options.views) views.push_back(view_named(view));
  const NetworkInput input{.light_strokes = opened.network->light_strokes(),
                           .fast_decode = network.options.origin.fast_decode};
  // The one that is open already, then others.
  const auto first = std::make_shared<std::unique_ptr<Backbone>>(std::move(opened.network));
  const auto guard = std::make_shared<std::mutex>();
  network.queue = std::make_shared<EmbeddingQueue>(
      [first, guard, file = opened.file]() -> std::unique_ptr<Backbone> {
        {
          const std::scoped_lock lock(*guard);
          if (*first) {
            if (std::unique_ptr<Backbone> another = (*first)->for_another_thread()) return another;
            return std::move(*first);
          }
        }
        return open_network(file);
      },
      views, limits, input);
  return network;
}

std::optional<std::string> remembered_backbone(const ProjectFolder& folder) {
  constexpr std::size_t longest = 4096;
  std::error_code ignored;
  if (!fs::is_regular_file(folder.backbone_file(), ignored)) return std::nullopt;
  return read_text(folder.backbone_file(), longest);
}

// What cannot be remembered is told, and serves for as long as this process does.
void remember_backbone(const ProjectOptions& options, const std::string& backbone) {
  const ProjectFolder folder(options.path, ProjectFolder::Access::read_only);
  if (remembered_backbone(folder) == backbone) return;
  try {
    AtomicFile file(folder.backbone_file());
    file.write(backbone);
    file.commit();
  } catch (const Error& error) {
    if (options.problem) options.problem(error.what());
  }
}

// Photographs are expected wherever they can be told apart, but where sketches are there already.
std::string backbone_of_new_project(const ProjectOptions& options) {
  const auto installed = installed_backbones();
  const bool knows_photographs =
      std::ranges::find(installed, kOfPhotographs, &InstalledBackbone::name) != installed.end();
  return options.ready_made.empty() && knows_photographs ? kOfPhotographs : kOfDrawings;
}

std::string backbone_for(const ProjectOptions& options) {
  if (!options.backbone.empty()) return options.backbone;
  std::error_code ignored;
  if (!fs::is_directory(options.path, ignored)) return backbone_of_new_project(options);
  const ProjectFolder folder(options.path, ProjectFolder::Access::read_only);
  if (const auto remembered = remembered_backbone(folder)) return *remembered;
  if (!fs::is_directory(folder.pictures(), ignored)) return backbone_of_new_project(options);
  std::vector<Picture> pictures;
  for (const Found& found : folder.contents().pictures) {
    const fs::path file = folder.file_of(found.home);
    pictures.push_back(
        {found.home.name, file.string(), [file] { return read_bitmap(file); }, file});
  }
  return pictures.empty() ? backbone_of_new_project(options)
                          : installed(suitable_backbone(pictures)).name;
}

bool is_before(const timespec& one, const timespec& other) {
  return std::tie(one.tv_sec, one.tv_nsec) < std::tie(other.tv_sec, other.tv_nsec);
}

// What a classifier knows of pictures, by class and name.
using KnownFeatures =
    std::map<std::pair<std::string, std::string>, std::shared_ptr<const PictureFeatures>>;

KnownFeatures known_by(const Classifier& classifier) {
  KnownFeatures known;
  const NamedSamples& samples = classifier.samples();
  const std::vector<MatrixView<const float>> rows = samples.rows();
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    PictureFeatures features;
    for (const MatrixView<const float>& view : rows)
      features.emplace_back(view[i].begin(), view[i].end());
    known[{samples.classes[samples.labels[i]], samples.names[i]}] =
        std::make_shared<const PictureFeatures>(std::move(features));
  }
  return known;
}

// A name that we made is an id; others get one that changes with the file.
std::string id_of(const Found& found) {
  constexpr std::size_t digits = 16;
  std::string stem = fs::path(found.home.name).stem().string();
  const bool is_ours = stem.size() == digits && found.home.name.find('/') == std::string::npos &&
                       stem.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (is_ours) return stem;
  return sha256_hex(fmt::format("{}/{}/{}.{}", found.home.class_name, found.home.name,
                                found.written.tv_sec, found.written.tv_nsec))
      .substr(0, digits);
}

class FolderLoader {
 public:
  FolderLoader(const ProjectOptions& options, const ProjectNetwork& network,
               const ProjectFolder& folder, const std::optional<Classifier>& saved)
      : options_(options), queue_(*network.queue), folder_(folder) {
    struct stat status {};
    if (!saved || ::stat(folder.classifier_file().c_str(), &status) != 0) return;
    known_ = known_by(*saved);
    saved_at_ = status.st_mtim;
  }

  void load(ProjectContents& contents) {
    ProjectFolder::Contents on_disk = folder_.contents();
    for (const std::string& name : on_disk.classes) contents.know(name);
    std::ranges::stable_sort(on_disk.pictures, [](const Found& one, const Found& other) {
      return is_before(one.written, other.written);
    });
    std::vector<const Found*> unknown;
    for (const Found& found : on_disk.pictures) {
      const auto features = known_features(found);
      if (features)
        know(found, features, contents);
      else
        unknown.push_back(&found);
    }
    look_at(unknown, contents);
    matches_saved_ = matches_saved_ && unknown.empty() && known_.empty();
  }

  // Whether what was saved is just what is there.
  [[nodiscard]] bool matches_saved() const { return matches_saved_; }

 private:
  std::shared_ptr<const PictureFeatures> known_features(const Found& found) {
    const auto known = known_.find({found.home.class_name, found.home.name});
    if (known == known_.end()) return nullptr;
    const auto features = known->second;
    known_.erase(known);
    return is_before(found.changed, saved_at_) ? features : nullptr;
  }

  void know(const Found& found, std::shared_ptr<const PictureFeatures> features,
            ProjectContents& contents) {
    std::string id = id_of(found);
    if (contents.pictures().contains(id))
      id = sha256_hex(found.home.class_name + "/" + found.home.name).substr(0, id.size());
    contents.know({std::move(id), found.home, next_order_++, std::move(features)});
  }

  // Some wait while others are decoded.
  void look_at(const std::vector<const Found*>& pictures, ProjectContents& contents) {
    constexpr std::size_t ahead = 32;
    std::vector<std::future<PictureFeatures>> pending(pictures.size());
    for (std::size_t i = 0; i < pictures.size() + ahead; ++i) {
      if (i < pictures.size()) attempt([&] { pending[i] = embed(*pictures[i]); });
      if (i < ahead) continue;
      const std::size_t done = i - ahead;
      if (done >= pictures.size() || !pending[done].valid()) continue;
      attempt([&] {
        know(*pictures[done], std::make_shared<const PictureFeatures>(pending[done].get()),
             contents);
      });
      if (options_.progress)
        options_.progress(static_cast<double>(done + 1) / static_cast<double>(pictures.size()));
    }
  }

  std::future<PictureFeatures> embed(const Found& found) {
    const fs::path file = folder_.file_of(found.home);
    return queue_.embed(read_bitmap(file, {}, queue_.least_side()), file.string());
  }

  void attempt(const auto& what) {
    try {
      what();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_picture) throw;
      if (options_.problem) options_.problem(fmt::format("left out: {}", error.what()));
    }
  }

  const ProjectOptions& options_;
  EmbeddingQueue& queue_;
  const ProjectFolder& folder_;
  KnownFeatures known_;
  timespec saved_at_{};
  bool matches_saved_ = true;
  std::uint64_t next_order_ = 0;
};

std::unique_ptr<Project> project_of_folder(const ProjectOptions& options,
                                           const ProjectNetwork& network,
                                           const std::optional<Classifier>& saved) {
  const bool is_new = is_new_folder(options.path);
  ProjectFolder folder = folder_at(options);
  if (is_new && !options.read_only)
    for (const ReadyMadePicture& picture : options.ready_made) {
      folder.make_class(picture.class_name);
      folder.write({picture.class_name, picture.name}, picture.file);
    }
  const fs::path classifier_file = folder.classifier_file();
  ProjectContents contents(std::move(folder));
  FolderLoader loader(options, network, *contents.folder(), saved);
  loader.load(contents);
  std::shared_ptr<const Classifier> fitted;
  if (saved && loader.matches_saved()) fitted = std::make_shared<const Classifier>(*saved);
  return std::make_unique<Project>(Project::Parts{.contents = std::move(contents),
                                                  .options = network.options,
                                                  .fitted = std::move(fitted),
                                                  .classifier_file = classifier_file,
                                                  .queue = network.queue,
                                                  .read_only = options.read_only,
                                                  .problem = options.problem});
}

std::unique_ptr<Project> project_of_file(const ProjectOptions& options,
                                         const ProjectNetwork& network, const Classifier& saved) {
  ProjectContents contents(std::nullopt);
  std::uint64_t order = 0;
  for (const auto& [home, features] : known_by(saved)) {
    const Found found{.home = {home.first, home.second}};
    contents.know({id_of(found), found.home, order++, features});
  }
  return std::make_unique<Project>(
      Project::Parts{.contents = std::move(contents),
                     .options = network.options,
                     .fitted = std::make_shared<const Classifier>(saved),
                     .classifier_file = fs::absolute(options.path),
                     .queue = network.queue,
                     .read_only = options.read_only,
                     .problem = options.problem});
}

// Whether another network than the classifier's is asked for, which can look at the pictures.
bool wants_another_network(const ProjectOptions& options, const Classifier& saved) {
  if (options.backbone.empty() || options.read_only || is_classifier_file(options.path))
    return false;
  const MappedFile model(backbone_file(options.backbone));
  return sha256_hex(model.bytes()) != saved.origin().sha256;
}

// Checks what is at the path. Nothing where there is no classifier yet.
std::optional<Classifier> saved_at(const ProjectOptions& options) {
  if (is_classifier_file(options.path)) return Classifier::load(options.path);
  std::error_code ignored;
  const bool exists = fs::exists(options.path, ignored);
  if (!exists && options.read_only)
    throw data_error(fmt::format("{}: is not there, and nothing is made where nothing may change",
                                 options.path.string()));
  if (exists && !fs::is_directory(options.path, ignored))
    throw data_error(
        fmt::format("{}: is neither a classifier (.dv) nor a folder with a folder of pictures for "
                    "each class",
                    options.path.string()));
  if (!options.read_only) ProjectFolder::check_for_changes(options.path);
  return classifier_at(options.path / "classifier.dv");
}

std::unique_ptr<Project> project_of(const ProjectOptions& options, const ProjectNetwork& network,
                                    const std::optional<Classifier>& saved) {
  return is_classifier_file(options.path) ? project_of_file(options, network, *saved)
                                          : project_of_folder(options, network, saved);
}

}  // namespace

FoundProject find_project(const ProjectOptions& options) {
  FoundProject found{
      .saved = saved_at(options), .backbone = {}, .is_new = is_new_folder(options.path)};
  if (found.saved && wants_another_network(options, *found.saved)) found.saved.reset();
  found.backbone =
      found.saved ? backbone_of(found.saved->origin(), options.backbone) : backbone_for(options);
  (void)backbone_file(found.backbone);
  return found;
}

std::unique_ptr<Project> open_project(const ProjectOptions& options, const FoundProject& found) {
  const auto known =
      found.saved ? std::optional(found.saved->options()) : std::optional<ClassifierOptions>();
  auto project =
      project_of(options, network_for(open_backbone(found.backbone, "cpu"), known, options.limits),
                 found.saved);
  if (!options.read_only && !is_classifier_file(options.path))
    remember_backbone(options, found.backbone);
  return project;
}

std::unique_ptr<Project> open_project(const ProjectOptions& options,
                                      const ProjectNetwork& network) {
  return project_of(options, network, saved_at(options));
}

}  // namespace deepvoro
