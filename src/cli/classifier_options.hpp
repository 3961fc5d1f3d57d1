#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/classifier/classifier.hpp"
#include "progress_bar.hpp"
#include "status_line.hpp"
#include "stopped_note.hpp"

namespace deepvoro {

// What the commands that look at pictures have in common on the command line.
struct PictureFlags {
  PictureOptions looking;
  std::string split;  // of a feature store
  bool leaves = false;

  [[nodiscard]] ClassFolders folders() const {
    return leaves ? ClassFolders::inner : ClassFolders::outer;
  }
  // Of commands that take a collection.
  void add_leaves_to(CLI::App& app);
  void add_to(CLI::App& app, const std::string& backbone_help);
  // Of commands that take but one picture.
  void add_network_to(CLI::App& app, const std::string& backbone_help);
};

void add_fast_decode_flag(CLI::App& app, bool& fast_decode);

// A usage error where it is given for features, of which nothing is decoded.
void refuse_fast_decode_of_features(bool fast_decode, const char* what = "a feature store");

// Whether a path is a feature store.
[[nodiscard]] bool is_store(const std::string& path);

// Whether a path is a file of features, by its ending.
[[nodiscard]] bool is_feature_file(const std::string& path);

// A usage error where it is one, for commands that take none.
void refuse_feature_file(const std::string& path);

// The classifier of a file. Where it cannot be loaded, and one of the other words is a classifier,
// the error says that it comes first.
[[nodiscard]] Classifier load_classifier(const std::string& command, const std::string& file,
                                         std::span<const std::string> other_words = {});

// Pictures that words on the command line stand for: files, folders, archives, patterns, "-" for a
// list of them on the standard input. A missing file is an error at once, or when it is read.
enum class MissingFile { stops, is_unreadable };
[[nodiscard]] std::vector<Picture> pictures_named(const std::vector<std::string>& words,
                                                  MissingFile missing = MissingFile::stops);

[[nodiscard]] std::vector<std::byte> bytes_of_input();

// Shows on stderr, while this lives, that pictures are looked at: the network being loaded, a
// progress bar, what was skipped, a warning; and when it is stopped, that nothing was written.
class LookingDisplay {
 public:
  // What comes of it: a file, or rows, which show by themselves how far it is on a terminal.
  enum class Result { file, rows };
  explicit LookingDisplay(Result result = Result::file);

  // `looking` with the events shown. Refers to this.
  [[nodiscard]] PictureOptions shown(const PictureOptions& looking);
  [[nodiscard]] const LookedAt& result() const { return result_; }

 private:
  bool writes_rows_;
  std::optional<StoppedNote> note_;  // until there are rows
  std::optional<StatusLine> loading_;
  std::optional<ProgressBar> bar_;
  LookedAt result_;
};

}  // namespace deepvoro
