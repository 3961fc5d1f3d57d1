#include "classifier_options.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <span>

#include "deepvoro/core/error.hpp"
#include "episode_options.hpp"
#include "flag_text.hpp"
#include "onnxruntime_option.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of_input() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

// What a pattern stands for; the word itself where it is none.
std::vector<std::string> expanded(const std::string& word) {
  std::error_code unreadable;
  if (fs::exists(word, unreadable) || word.find_first_of("*?[") == std::string::npos) return {word};
  ::glob_t found{};
  std::vector<std::string> names;
  if (::glob(word.c_str(), 0, nullptr, &found) == 0)
    names.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (names.empty())
    throw data_error(fmt::format("{}: no file matches; check the folder and the extension", word));
  return names;
}

}  // namespace

void add_fast_decode_flag(CLI::App& app, bool& fast_decode) {
  app.add_flag("--fast-decode", fast_decode,
               "decode large JPEG files at 1/2, 1/4 or 1/8 of their size, which is faster and "
               "changes features about as little as saving a file once more");
}

void refuse_fast_decode_of_features(bool fast_decode, const char* what) {
  if (fast_decode)
    throw usage_error(fmt::format("--fast-decode: {} already has features; leave it out", what));
}

void PictureFlags::add_network_to(CLI::App& app, const std::string& backbone_help) {
  app.add_option("--backbone", looking.backbone, backbone_help);
  app.add_option("--device", looking.device,
                 "cpu, or cuda, which is faster and rounds features differently")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  add_onnxruntime_option(app);
  add_fast_decode_flag(app, looking.fast_decode);
  add_threads_option(app, looking.threads);
}

void PictureFlags::add_to(CLI::App& app, const std::string& backbone_help) {
  add_network_to(app, backbone_help);
  app.add_option("--split", split, "split of a feature store [the only one, otherwise novel]");
  app.add_flag("--skip-bad", looking.skip_bad, "skip pictures that cannot be read");
}

void PictureFlags::add_leaves_to(CLI::App& app) {
  app.add_flag("--leaves", leaves,
               "where folders have folders in them, every one that holds pictures is a class");
}

bool is_store(const std::string& path) {
  std::error_code unreadable;
  return fs::exists(fs::path(path) / "store.json", unreadable);
}

bool is_feature_file(const std::string& path) {
  constexpr std::array<std::string_view, 8> endings{".npy", ".npz",         ".h5",  ".hdf5",
                                                    ".plk", ".safetensors", ".pkl", ".pickle"};
  return std::ranges::count(endings, fs::path(path).extension().string()) == 1;
}

void refuse_feature_file(const std::string& path) {
  if (is_feature_file(path))
    throw usage_error(fmt::format(
        "{0}: is a file of features, of which predict alone takes any; make a feature store of it: "
        "deepvoro store create STORE --novel {0}",
        path));
}

Classifier load_classifier(const std::string& command, const std::string& file,
                           std::span<const std::string> other_words) {
  try {
    return Classifier::load(file);
  } catch (const Error&) {
    const auto meant = std::ranges::find_if(
        other_words, [](const std::string& word) { return Classifier::is_classifier(word); });
    if (meant == other_words.end()) throw;
    throw usage_error(fmt::format(
        "{}: is not the classifier, which comes first: deepvoro {} {} ...", file, command, *meant));
  }
}

std::vector<Picture> pictures_named(const std::vector<std::string>& words, MissingFile missing) {
  std::vector<Picture> pictures;
  for (const std::string& word : words)
    for (const std::string& path : word == "-" ? lines_of_input() : expanded(word)) try {
        for (Picture& picture : pictures_at(path)) pictures.push_back(std::move(picture));
      } catch (const Error& error) {
        if (missing == MissingFile::stops || error.code() != ErrorCode::missing_file) throw;
        pictures.push_back(unreadable_picture(path, error));
      }
  if (pictures.empty()) throw data_error("no pictures are named on standard input");
  return pictures;
}

std::vector<std::byte> bytes_of_input() {
  constexpr std::size_t most = std::size_t{1} << 30U;  // no picture is as large
  std::vector<std::byte> bytes;
  std::array<char, 1 << 16> some;
  while (std::cin.read(some.data(), some.size()) || std::cin.gcount() > 0) {
    const auto read =
        std::as_bytes(std::span(some).first(static_cast<std::size_t>(std::cin.gcount())));
    bytes.insert(bytes.end(), read.begin(), read.end());
    if (bytes.size() > most) throw data_error("standard input: is too large for a picture");
  }
  return bytes;
}

LookingDisplay::LookingDisplay(Result result) : writes_rows_(result == Result::rows) {
  note_.emplace();
  if (!writes_rows_ || ::isatty(STDOUT_FILENO) == 0) bar_.emplace("looking at pictures");
}

PictureOptions LookingDisplay::shown(const PictureOptions& looking) {
  PictureOptions options = looking;
  options.events.noticed = [](const std::string& note) {
    fmt::print(stderr, "note: {}\n", with_flags(note));
  };
  options.events.loading = [this](const std::string& backbone) {
    // Without folders: it has to fit on a line.
    loading_.emplace("loading " + fs::path(backbone).filename().string());
  };
  options.events.loaded = [this, told = looking.events.loaded](const BackboneChoice& choice,
                                                               std::size_t views) {
    loading_.reset();
    if (writes_rows_) note_.reset();
    if (told) told(choice, views);
  };
  if (bar_) options.events.progress = bar_->callback();
  options.events.looked = [this](const LookedAt& result) {
    bar_.reset();
    for (const std::string& skipped : result.skipped)
      fmt::print(stderr, "skipped {}\n", with_flags(skipped));
    if (result.warning) fmt::print(stderr, "warning: {}\n", with_flags(*result.warning));
    result_ = result;
  };
  return options;
}

}  // namespace deepvoro
