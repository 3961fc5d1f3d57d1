#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <vector>

#include "classifier_saver.hpp"
#include "deepvoro/classifier/classifier.hpp"
#include "embedding_queue.hpp"
#include "project_contents.hpp"
#include "project_history.hpp"
#include "project_snapshot.hpp"

namespace deepvoro {

// Pictures with labels, and the classifier of them: the same, byte for byte, that `deepvoro fit`
// makes of the project's folder. A change is on disk, and in the snapshot that the next question
// gets, when its function returns. Questions use the last snapshot and never wait for changes. Safe
// to share between threads.
class Project {
 public:
  // Of a folder, or, without one, of a classifier's file alone, which every change writes.
  // `options` say how a classifier is made. `contents` are as on disk; `fitted` is the classifier
  // of just these, where there is one.
  struct Parts {
    ProjectContents contents;
    ClassifierOptions options;
    std::shared_ptr<const Classifier> fitted;
    std::filesystem::path classifier_file;
    std::shared_ptr<EmbeddingQueue> queue;
    bool read_only = false;
    // Told what went wrong when the classifier was saved in the background.
    std::function<void(const std::string& problem)> problem = {};
  };
  explicit Project(Parts parts);
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;
  ~Project() = default;

  [[nodiscard]] std::shared_ptr<const ProjectSnapshot> snapshot() const;
  [[nodiscard]] const ClassifierOptions& options() const { return options_; }
  [[nodiscard]] bool read_only() const { return read_only_; }
  [[nodiscard]] bool has_files() const { return contents_.folder().has_value(); }
  [[nodiscard]] const std::filesystem::path& classifier_file() const { return classifier_file_; }
  // Where the folders of the classes are.
  [[nodiscard]] std::filesystem::path pictures_folder() const;
  [[nodiscard]] std::size_t waiting() const { return queue_->waiting(); }
  // Whether its network is one of drawings, light strokes on a dark ground.
  [[nodiscard]] bool is_of_sketches() const { return queue_->input().light_strokes; }

  // Features of a picture file that a client sent. `name` is what the client calls it.
  [[nodiscard]] std::future<PictureFeatures> look_at(std::span<const std::byte> file,
                                                     const std::string& name);
  // The file of a picture. A ProjectError (missing) where it has none.
  [[nodiscard]] std::vector<std::byte> file_of(const std::string& id) const;

  struct NewPicture {
    std::string class_name;
    std::string name;  // what the client calls it; in the project it gets another
    std::span<const std::byte> file;
  };
  struct Taught {
    // Of each picture: its id, or why it is refused; one of them is empty.
    std::vector<std::string> ids;
    std::vector<std::string> errors;
    std::vector<bool> known;         // of each picture: it is in the class already, under that id
    std::vector<std::string> notes;  // on pictures that are in another class too
    std::uint64_t revision = 0;
  };
  // A class that is not there is made. Pictures that cannot be read are refused, the others added,
  // but none twice to the same class. `classes` are made too where they are not there. Those of one
  // group, one after the other, are undone together.
  Taught teach(const std::vector<NewPicture>& pictures, const std::string& group = {},
               const std::vector<std::string>& classes = {});

  // Each gives the revision that has it.
  std::uint64_t add_class(const std::string& name);
  std::uint64_t remove_class(const std::string& name);
  std::uint64_t rename_class(const std::string& name, const std::string& to);
  std::uint64_t remove_picture(const std::string& id);
  std::uint64_t move_picture(const std::string& id, const std::string& to);

  struct Done {
    std::uint64_t revision = 0;
    std::string what;
  };
  Done undo();
  Done redo();

  // Writes the classifier now, where that is still to be done.
  void save();

 private:
  using Lock = std::unique_lock<std::mutex>;
  using SeenFeatures = std::vector<std::shared_ptr<const PictureFeatures>>;

  [[nodiscard]] SeenFeatures look_at_all(const std::vector<NewPicture>& pictures,
                                         std::vector<std::string>& errors);
  // Adds them, and what was done to the change.
  void add_all(const std::vector<NewPicture>& pictures, const SeenFeatures& features,
               Taught& taught, ProjectChange& change);
  void make_class(const std::string& name, ProjectChange& change);
  [[nodiscard]] std::vector<const ProjectPicture*> copies_of(const NewPicture& picture,
                                                             const PictureFeatures& features) const;

  std::uint64_t change(Lock lock, const ProjectChange& change);
  std::uint64_t did(Lock lock, const ProjectChange& change);
  Done go(ProjectHistory::Direction direction);
  void publish(std::uint64_t revision);
  void revert(const ProjectChange& change);
  [[nodiscard]] std::shared_ptr<ProjectSnapshot> copied() const;
  void check_has_class(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> class_list() const;

  ClassifierOptions options_;
  std::filesystem::path classifier_file_;
  std::shared_ptr<EmbeddingQueue> queue_;
  bool read_only_;
  std::counting_semaphore<> decoding_;

  mutable std::mutex guard_;  // of what follows
  ProjectContents contents_;
  ProjectHistory history_;
  std::uint64_t revision_ = 1;
  std::uint64_t next_order_ = 0;
  std::size_t removed_classes_ = 0;

  std::mutex fitting_;
  mutable std::mutex snapshot_guard_;
  std::shared_ptr<const ProjectSnapshot> snapshot_;

  std::unique_ptr<ClassifierSaver> saver_;  // ends first; none where nothing may change
};

}  // namespace deepvoro
