#include "change_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "classifier_options.hpp"
#include "classifier_text.hpp"
#include "closest_word.hpp"
#include "core/file_lock.hpp"
#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "episode_options.hpp"

namespace deepvoro {
namespace {

constexpr const char* kAddFooter = R"(
The file becomes what fitting everything at once would have made, byte for byte; the earlier pictures are not needed.
PICTURE is a file, a folder, a pattern, or - for a list on the standard input; or a feature store that has the class.

A picture goes by its file name; one in a folder by its path below that. Adding the same picture again changes nothing. Where the
class has another one of that name, nothing is added: rename the new one, or remove the old one first. If the classifier was fitted
with --fast-decode, new pictures are decoded the same way; otherwise the flag is refused.

Examples:
  deepvoro add birds.dv kingfisher pictures/kingfisher
  deepvoro add birds.dv robin another.jpg)";

constexpr const char* kRemoveFooter = R"(
WHAT is a class, or CLASS/PICTURE for one picture of it, as 'deepvoro info --pictures' lists them.

Examples:
  deepvoro remove birds.dv robin
  deepvoro remove birds.dv robin wren magpie/blurred.jpg)";

constexpr const char* kRenameFooter = R"(
Example:
  deepvoro rename birds.dv robin "European robin")";

void check_has_class(const std::string& where, std::span<const std::string> classes,
                     const std::string& name) {
  if (std::ranges::find(classes, name) != classes.end()) return;
  const auto meant = closest_word(name, classes);
  throw data_error(fmt::format("{}: has no class '{}'; {}", where, name,
                               meant ? fmt::format("did you mean '{}'?", *meant)
                                     : fmt::format("it has {}", listed(classes))));
}

// Two changes at once would lose one of them.
FileLock locked(const std::string& classifier) {
  return FileLock(classifier, [&] {
    fmt::print(stderr, "waiting for another command that changes {}\n", classifier);
  });
}

struct AddCommand {
  std::string classifier;
  std::string class_name;
  std::vector<std::string> pictures;
  PictureFlags flags;

  void run();

 private:
  [[nodiscard]] Classifier with_store(const Classifier& fitted) const;
  [[nodiscard]] Classifier with_pictures(const Classifier& fitted) const;
  void print_added(const Classifier& before, std::size_t count) const;
};

Classifier AddCommand::with_store(const Classifier& fitted) const {
  refuse_fast_decode_of_features(flags.looking.fast_decode);
  const FeatureStore store{pictures.front()};
  const std::string split = flags.split.empty() ? store.usual_split() : flags.split;
  check_has_class(fmt::format("{}, split {}", store.folder().string(), split),
                  store.split(split).classes, class_name);
  return fitted.with(store, class_name, split, flags.looking.threads);
}

Classifier AddCommand::with_pictures(const Classifier& fitted) const {
  LookingDisplay display;
  return fitted.with_pictures(class_name, pictures_named(pictures), display.shown(flags.looking));
}

// A misspelt name makes a class of its own, which shows here.
void AddCommand::print_added(const Classifier& before, std::size_t count) const {
  const auto& classes = before.classes();
  if (count == 0) {
    fmt::print("class {} had these pictures already; nothing changed\n", class_name);
    return;
  }
  if (std::ranges::find(classes, class_name) != classes.end()) {
    fmt::print("added {} to class {}\n", counted(count, "picture"), class_name);
    return;
  }
  fmt::print("new class {} with {}\n", class_name, counted(count, "picture"));
  if (const auto alike = closest_word(class_name, classes))
    fmt::print(stderr, "note: there is a class '{}' as well; if that was meant, remove '{}'\n",
               *alike, class_name);
}

void AddCommand::run() {
  const FileLock lock = locked(classifier);
  std::vector<std::string> others = pictures;
  others.push_back(class_name);
  const Classifier fitted = load_classifier("add", classifier, others);
  std::ranges::for_each(pictures, refuse_feature_file);
  const bool store = pictures.size() == 1 && is_store(pictures.front());
  const Classifier grown = store ? with_store(fitted) : with_pictures(fitted);
  grown.save(classifier);
  print_added(fitted, grown.labels().size() - fitted.labels().size());
  print_summary(classifier, grown);
}

struct RemoveCommand {
  std::string classifier;
  std::vector<std::string> what;
  unsigned threads = available_threads();

  void run();

 private:
  void print_removed(const Classifier& before, const Classifier& after) const;
};

// A class goes with the last of its pictures, which may not have been meant.
void RemoveCommand::print_removed(const Classifier& before, const Classifier& after) const {
  std::size_t single = before.labels().size() - after.labels().size();
  std::string gone;
  for (std::size_t k = 0; k < before.classes().size(); ++k) {
    const std::string& name = before.classes()[k];
    if (std::ranges::count(after.classes(), name) > 0) continue;
    const auto pictures = static_cast<std::size_t>(std::ranges::count(before.labels(), k));
    if (std::ranges::count(what, name) > 0) {
      fmt::print("removed class {} with its {}\n", name, counted(pictures, "picture"));
      single -= pictures;
    } else {
      gone += fmt::format("class {} has no pictures left and is gone\n", name);
    }
  }
  if (single > 0) fmt::print("removed {}\n", counted(single, "picture"));
  fmt::print("{}", gone);
}

void RemoveCommand::run() {
  const FileLock lock = locked(classifier);
  const Classifier fitted = load_classifier("remove", classifier, what);
  for (const std::string& word : what)
    if (std::ranges::none_of(fitted.classes(), [&](const std::string& name) {
          return word.starts_with(name + "/");  // one of its pictures
        }))
      check_has_class(classifier, fitted.classes(), word);
  const Classifier rest = fitted.without(what, threads);
  rest.save(classifier);
  print_removed(fitted, rest);
  print_summary(classifier, rest);
}

struct RenameCommand {
  std::string classifier;
  std::string class_name;
  std::string to;
  unsigned threads = available_threads();

  void run() const {
    const FileLock lock = locked(classifier);
    const std::array others{class_name, to};
    const Classifier fitted = load_classifier("rename", classifier, others);
    check_has_class(classifier, fitted.classes(), class_name);
    fitted.renamed(class_name, to, threads).save(classifier);
    fmt::print("class {} is now {}\n", class_name, to);
  }
};

}  // namespace

void add_change_commands(CLI::App& program) {
  auto add = std::make_shared<AddCommand>();
  CLI::App* app = program.add_subcommand("add", "add a class, or more pictures of one");
  app->footer(kAddFooter);
  app->add_option("CLASSIFIER", add->classifier, "file made by deepvoro fit")->required();
  app->add_option("CLASS", add->class_name, "name of the class")->required();
  app->add_option("PICTURE", add->pictures, "pictures of it, or a feature store")->required();
  add->flags.add_to(*app, "path of the model that the classifier was fitted with, if it was moved");
  app->callback([add] { add->run(); });

  auto remove = std::make_shared<RemoveCommand>();
  app = program.add_subcommand("remove", "remove classes or single pictures");
  app->footer(kRemoveFooter);
  app->add_option("CLASSIFIER", remove->classifier, "file made by deepvoro fit")->required();
  app->add_option("WHAT", remove->what, "names of classes, or CLASS/PICTURE")->required();
  add_threads_option(*app, remove->threads);
  app->callback([remove] { remove->run(); });

  auto rename = std::make_shared<RenameCommand>();
  app = program.add_subcommand("rename", "give a class another name");
  app->footer(kRenameFooter);
  app->add_option("CLASSIFIER", rename->classifier, "file made by deepvoro fit")->required();
  app->add_option("CLASS", rename->class_name, "name of the class")->required();
  app->add_option("NAME", rename->to, "its new name")->required();
  add_threads_option(*app, rename->threads);
  app->callback([rename] { rename->run(); });
}

}  // namespace deepvoro
