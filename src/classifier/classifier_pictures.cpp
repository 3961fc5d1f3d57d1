#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "backbone_choice.hpp"
#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/picture/view.hpp"
#include "state.hpp"

// What a classifier does with pictures: it looks at them, and goes on with features.
namespace deepvoro {
namespace {

// Adds pictures to samples, each with the label that `label_of` gives its number.
PictureNetworks::Receiver added_to(NamedSamples& samples, std::span<const Picture> pictures,
                                   const std::function<std::size_t(std::size_t)>& label_of) {
  return [&samples, pictures, label_of](const SeenPictures& seen) {
    for (const std::size_t i : seen.numbers) {
      samples.labels.push_back(label_of(i));
      samples.names.push_back(pictures[i].name);
    }
    samples.views = seen.views;
  };
}

// A folder of classes, where that of one class is meant.
std::optional<std::string> note_on_folders(const std::string& class_name,
                                           std::span<const Picture> pictures) {
  std::set<std::string> folders;
  for (const Picture& picture : pictures)
    if (const std::size_t slash = picture.name.find('/'); slash != std::string::npos)
      folders.insert(picture.name.substr(0, slash));
  if (folders.empty()) return std::nullopt;
  return fmt::format(
      "pictures come from {} within the one that was given ({}); all of them count as '{}'",
      counted(folders.size(), "folder"),
      listed(std::vector<std::string>(folders.begin(), folders.end())), class_name);
}

// What is added under another name than the same picture has, or to another class.
std::vector<std::string> notes_on_copies(const NamedSamples& support, const NamedSamples& added) {
  std::vector<std::string> notes;
  const auto support_views = support.rows();
  const auto added_views = added.rows();
  for (std::size_t i = 0; i < added.labels.size(); ++i)
    for (std::size_t j = 0; j < support.labels.size(); ++j) {
      const std::string& other = support.classes[support.labels[j]];
      const bool is_same_class = other == added.classes.front();
      if (is_same_class && support.names[j] == added.names[i]) continue;
      bool is_copy = true;
      for (std::size_t v = 0; v < support_views.size() && is_copy; ++v)
        is_copy = std::ranges::equal(support_views[v][j], added_views[v][i]);
      if (!is_copy) continue;
      notes.push_back(fmt::format("{} is the same picture as {}/{}; {}", added.names[i], other,
                                  support.names[j],
                                  is_same_class ? "it counts twice unless you remove one"
                                                : "remove it from the wrong class"));
    }
  return notes;
}

// What is seen by a classifier that was fitted with `fast_decode` is decoded so as well.
PictureOptions as_fitted(const PictureOptions& options, const FeatureOrigin& origin) {
  PictureOptions same = options;
  same.fast_decode = options.fast_decode || origin.fast_decode;
  return same;
}

// Those that the method uses.
std::shared_ptr<const BackboneStatistics> statistics_for(FitMethod method,
                                                         const OpenedBackbone& backbone) {
  if (method == FitMethod::deepvoro) return nullptr;
  auto statistics = statistics_of_network(backbone.origin.sha256, backbone.file);
  if (method == FitMethod::plda && (statistics == nullptr || !statistics->plda))
    throw data_error(fmt::format(
        "`method` plda needs statistics of {0} that {1}; make them from features with "
        "base classes: deepvoro backbone statistics {0} --plda --from STORE",
        backbone.origin.backbone, statistics == nullptr ? "do not exist" : "were not made for it"));
  return statistics;
}

}  // namespace

Classifier Classifier::fit_pictures(const std::filesystem::path& collection,
                                    const PictureFit& options) {
  check_number_of_views(options.views);
  const LabelledPictures pictures = labelled_pictures_at(collection, options.folders);
  if (options.pictures.events.noticed)
    for (const std::string& note : pictures.notes) options.pictures.events.noticed(note);
  return fit_pictures(pictures, options);
}

Classifier Classifier::fit_pictures(const LabelledPictures& pictures, const PictureFit& options) {
  const std::span<const Picture> all = pictures.pictures;
  const PictureOptions& looking = options.pictures;
  check_number_of_views(options.views);
  const FitMethod method = method_of(options.method, options.pool);
  if (pictures.labels.size() != all.size()) throw usage_error("every picture needs one label");
  if (all.empty()) throw data_error("there are no pictures to learn from");

  const BackboneChoice choice = looking.backbone.empty()
                                    ? installed(suitable_backbone(all))
                                    : BackboneChoice{looking.backbone, "as requested"};
  if (looking.events.loading) looking.events.loading(choice.name);
  OpenedBackbone backbone = open_backbone(choice.name, looking.device, looking.threads);
  FeatureOrigin origin = backbone.origin;
  origin.fast_decode = looking.fast_decode;
  auto statistics = statistics_for(method, backbone);
  std::vector<std::string> views;
  for (const View& view :
       parse_views(options.views, SizeRule::release, backbone.network->input_size()))
    views.push_back(name(view));
  auto networks = std::make_unique<PictureNetworks>(std::move(backbone), views);
  if (looking.events.loaded) looking.events.loaded(choice, views.size());

  NamedSamples samples{.classes = pictures.classes, .dim = networks->dim()};
  networks->look_at(all, PictureNetworks::Portions::all_together, looking,
                    added_to(samples, all, [&](std::size_t i) { return pictures.labels[i]; }));
  return fit(samples, {views, options.pool, origin, method, std::move(statistics)},
             std::make_shared<NetworkSlot>(std::move(networks), looking.device), looking.threads);
}

Classifier Classifier::with_pictures(const std::string& class_name,
                                     std::span<const Picture> pictures,
                                     const PictureOptions& options) const {
  if (options.fast_decode && !origin().fast_decode)
    throw usage_error(
        "`fast_decode`: the classifier was fitted without, and pictures that are added are decoded "
        "as those before; leave it out, or fit again");
  NamedSamples samples{.classes = {class_name}, .dim = dim()};
  state_->networks->use(origin(), views(), options, [&](PictureNetworks& networks) {
    networks.look_at(pictures, PictureNetworks::Portions::all_together,
                     as_fitted(options, origin()),
                     added_to(samples, pictures, [](std::size_t) { return std::size_t{0}; }));
  });
  Classifier grown = with(samples, options.threads);
  if (!options.events.noticed) return grown;
  if (const auto note = note_on_folders(class_name, pictures)) options.events.noticed(*note);
  for (const std::string& note : notes_on_copies(state_->support, samples))
    options.events.noticed(note);
  return grown;
}

std::vector<Prediction> Classifier::predict(std::span<const Picture> pictures,
                                            const PictureOptions& options) const {
  std::vector<Prediction> predictions;
  predict(
      pictures, [&](const Prediction& prediction) { predictions.push_back(prediction); }, options);
  return predictions;
}

// Of readable and skipped pictures in the order that they came in.
void Classifier::answer(const SeenPictures& seen, const AnswerListener& on_answer,
                        const PictureOptions& options) const {
  auto skipped = seen.skipped.begin();
  const auto tell_skipped_before = [&](std::size_t number) {
    for (; skipped != seen.skipped.end() && skipped->number < number; ++skipped)
      if (options.events.skipped) options.events.skipped(skipped->number, skipped->reason);
  };
  if (!seen.numbers.empty()) {
    const NamedSamples queries{.views = seen.views, .dim = dim()};
    for (Prediction& prediction : predict(queries.rows(), options.threads)) {
      prediction.query = seen.numbers[prediction.query];
      tell_skipped_before(prediction.query);
      on_answer(prediction);
    }
  }
  tell_skipped_before(std::numeric_limits<std::size_t>::max());
}

void Classifier::predict(std::span<const Picture> pictures, const AnswerListener& on_answer,
                         const PictureOptions& options) const {
  if (pictures.empty()) return;
  state_->networks->use(origin(), views(), options, [&](PictureNetworks& networks) {
    networks.look_at(pictures, PictureNetworks::Portions::soon, as_fitted(options, origin()),
                     [&](const SeenPictures& seen) { answer(seen, on_answer, options); });
  });
}

Explanation Classifier::explain(const Picture& picture, std::size_t neighbours,
                                const PictureOptions& options) const {
  Explanation explanation;
  state_->networks->use(origin(), views(), options, [&](PictureNetworks& networks) {
    networks.look_at({&picture, 1}, PictureNetworks::Portions::all_together,
                     as_fitted(options, origin()), [&](const SeenPictures& seen) {
                       if (seen.numbers.empty()) return;
                       const std::vector<std::span<const float>> query(seen.views.begin(),
                                                                       seen.views.end());
                       explanation = explain(query, neighbours);
                     });
  });
  return explanation;
}

}  // namespace deepvoro
