#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/classifier/backbone_statistics.hpp"
#include "deepvoro/classifier/calibration.hpp"
#include "deepvoro/classifier/fit_method.hpp"
#include "deepvoro/classifier/picture_options.hpp"
#include "deepvoro/classifier/samples.hpp"
#include "deepvoro/core/export.hpp"
#include "deepvoro/core/matrix_view.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/picture/picture.hpp"

namespace deepvoro {

// What made the features. Queries have to be made by the same.
struct FeatureOrigin {
  std::string backbone;  // name or file of the model; empty: features were given as such
  std::string sha256;    // of the model; empty where it is not known
  std::string description_json = "{}";
  bool fast_decode = false;  // as PictureOptions says

  bool operator==(const FeatureOrigin&) const = default;
};

struct ClassifierOptions {
  std::vector<std::string> views = {};  // names, in the order of the rows; empty: view1, view2, ...
  Pool pool = {};                       // members of an ensemble, instead of a method
  FeatureOrigin origin = {};
  std::optional<FitMethod> method = {};  // ridge_vd where neither is given
  // Of the network that made the features. nullptr: ridge_vd does without, and plda cannot be used.
  std::shared_ptr<const BackboneStatistics> statistics = nullptr;
};

struct Prediction {
  std::size_t query = 0;              // which of the queries it is of; bad pictures may be skipped
  std::size_t label = 0;              // of the largest influence
  double distance = 0;                // from the nearest class
  bool unknown = false;               // whether that is beyond the threshold of normal strictness
  std::vector<double> influence;      // of each class; larger is nearer
  std::vector<double> probabilities;  // of each class, together 1
};

// Told each answer as it is found, in the order of the pictures, on the calling thread.
using AnswerListener = std::function<void(const Prediction& prediction)>;

// Why a query went where it did.
struct Explanation {
  // Members that have a view, a transformation or a geometry in common, and their opinion. Members
  // of ridge_vd are its two diagrams; a view of it is what it says of the view alone.
  struct Part {
    std::string name;
    std::size_t members = 0;
    std::vector<double> influence;   // of each class, mean over these members
    std::vector<std::size_t> votes;  // of each class, members to which it is the nearest
  };
  struct Neighbour {
    std::size_t label = 0;
    std::string name;
    double distance = 0;  // between points, or the mean over the members
  };

  Prediction prediction;
  std::vector<Part> views;
  std::vector<Part> transformations;
  std::vector<Part> geometries;
  std::vector<Neighbour> neighbours;  // support samples, the nearest first
};

class NetworkSlot;
struct SeenPictures;

// A classifier fitted on labelled samples. Classes are in alphabetical order and so are the samples
// of each, whatever order they came in: what is made of the same samples is the same, byte for
// byte, whether they came at once or one after the other. Immutable, so safe to share between
// threads; those that look at pictures wait for each other.
//
//   Classifier birds = Classifier::fit_pictures("birds");   // a folder of pictures per class
//   birds.save("birds.dv");
//   for (const Prediction& answer : birds.predict(pictures_at("garden.jpg")))
//     std::cout << birds.classes()[answer.label];
class DEEPVORO_API Classifier {
 public:
  // Of pictures with a class each: a collection (docs/FORMATS.md), or any others.
  [[nodiscard]] static Classifier fit_pictures(const std::filesystem::path& collection,
                                               const PictureFit& options = {});
  [[nodiscard]] static Classifier fit_pictures(const LabelledPictures& pictures,
                                               const PictureFit& options = {});
  // Of features.
  [[nodiscard]] static Classifier fit(const NamedSamples& samples, ClassifierOptions options = {},
                                      unsigned threads = 1);
  // Of one split of a store, in all its views; the split by FeatureStore::usual_split() where none
  // is named. Statistics are those of the network of this hash that are installed, or those of the
  // split base of the store.
  [[nodiscard]] static Classifier fit(const FeatureStore& store, const std::string& split = {},
                                      Pool pool = {}, unsigned threads = 1,
                                      std::optional<FitMethod> method = {});

  // A file holds all of it (docs/FORMATS.md). A loaded classifier answers as the saved one, bit for
  // bit. What is damaged or of another kind is a data error.
  [[nodiscard]] static Classifier load(const std::filesystem::path& file);
  void save(const std::filesystem::path& file) const;
  // Whether a file begins as such a file does; one that is missing does not.
  [[nodiscard]] static bool is_classifier(const std::filesystem::path& file);

  // As if these samples had been there from the beginning: further classes, or more of known ones.
  [[nodiscard]] Classifier with(const NamedSamples& samples, unsigned threads = 1) const;
  [[nodiscard]] Classifier with_pictures(const std::string& class_name,
                                         std::span<const Picture> pictures,
                                         const PictureOptions& options = {}) const;
  // One class of a store.
  [[nodiscard]] Classifier with(const FeatureStore& store, const std::string& class_name,
                                const std::string& split = {}, unsigned threads = 1) const;
  // As if these had never been there: each is a class, or CLASS/NAME for one sample of a class. A
  // class without samples is gone.
  [[nodiscard]] Classifier without(const std::string& what, unsigned threads = 1) const;
  [[nodiscard]] Classifier without(std::span<const std::string> what, unsigned threads = 1) const;
  // As if the class had had another name from the beginning; not one that CLASS/NAME means a sample
  // by.
  [[nodiscard]] Classifier renamed(const std::string& class_name, const std::string& to,
                                   unsigned threads = 1) const;

  [[nodiscard]] const std::vector<std::string>& classes() const;
  [[nodiscard]] const std::vector<std::size_t>& labels() const;  // [samples], ascending
  [[nodiscard]] const std::vector<std::string>& names() const;   // [samples]
  [[nodiscard]] const std::vector<std::string>& views() const;
  [[nodiscard]] std::size_t dim() const;
  [[nodiscard]] FitMethod method() const;
  // Members of an ensemble; of ridge_vd none. Where the support has negative features, their
  // transformations are signed ones.
  [[nodiscard]] const Pool& pool() const;
  // nullptr where there are none, or the method does not use them.
  [[nodiscard]] const BackboneStatistics* statistics() const;
  [[nodiscard]] const FeatureOrigin& origin() const;
  [[nodiscard]] const Calibration& calibration() const;
  // What it was fitted on, in its own order, and how: fit() of both makes the same one again.
  [[nodiscard]] const NamedSamples& samples() const;
  [[nodiscard]] const ClassifierOptions& options() const;

  // The class of each picture, in order. One that is skipped (`skip_bad`) has no answer:
  // Prediction::query says which picture an answer is of.
  [[nodiscard]] std::vector<Prediction> predict(std::span<const Picture> pictures,
                                                const PictureOptions& options = {}) const;
  // The same for pictures without number: answers are told when they are found, and not kept.
  void predict(std::span<const Picture> pictures, const AnswerListener& on_answer,
               const PictureOptions& options = {}) const;
  // queries[v]: [queries x dim], in the order of views(). An answer does not depend on the other
  // queries.
  [[nodiscard]] std::vector<Prediction> predict(std::span<const MatrixView<const float>> queries,
                                                unsigned threads = 1) const;
  // All samples of a split.
  [[nodiscard]] std::vector<Prediction> predict(const FeatureStore& store,
                                                const std::string& split = {},
                                                unsigned threads = 1) const;

  // All rows of a .npy, .npz, .h5, .safetensors or pickle file: an array with the views of each row
  // side by side, or an array per view.
  [[nodiscard]] std::vector<Prediction> predict_rows(const std::filesystem::path& file,
                                                     unsigned threads = 1) const;

  [[nodiscard]] Explanation explain(const Picture& picture, std::size_t neighbours = 5,
                                    const PictureOptions& options = {}) const;
  [[nodiscard]] Explanation explain(std::span<const std::span<const float>> query,
                                    std::size_t neighbours = 5) const;

 private:
  struct State;
  explicit Classifier(std::shared_ptr<const State> state);
  [[nodiscard]] static Classifier fit(const NamedSamples& samples, ClassifierOptions options,
                                      std::shared_ptr<NetworkSlot> networks, unsigned threads);

  [[nodiscard]] std::size_t label_of(const std::string& class_name) const;
  // Nothing where no class begins it; a data error where the class has no such sample.
  [[nodiscard]] std::optional<std::size_t> sample_named(const std::string& class_and_name) const;
  // Samples for which `is_kept` is not 0.
  [[nodiscard]] Classifier with_only(const std::vector<char>& is_kept, unsigned threads) const;
  [[nodiscard]] Classifier refitted(const NamedSamples& samples, unsigned threads) const;
  void answer(const SeenPictures& seen, const AnswerListener& on_answer,
              const PictureOptions& options) const;

  std::shared_ptr<const State> state_;
};

}  // namespace deepvoro
