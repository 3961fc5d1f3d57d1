// Time of a classifier on features, without files and process: for bench/classifier.py.
//
// usage: deepvoro_classifier_bench SUPPORT QUERY MEMBERS ANSWERS.npy
//   MEMBERS   1: first view, square root; 8: first view; all: every view, eight transformations
//   each
// Prints "fit SECONDS" and "predict SECONDS", and writes the index of the class of each query.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "deepvoro/classifier/classifier.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "features/npy.hpp"
#include "features/transformed_rows.hpp"

namespace deepvoro {
namespace {

constexpr const char* kSplit = "novel";
constexpr int kRuns = 3;

using Views = std::vector<std::vector<float>>;

Views read_views(const FeatureStore& store, std::size_t count) {
  Views views(count);
  for (std::size_t v = 0; v < count; ++v) {
    const FeatureRows rows = store.features(kSplit, store.views()[v]);
    std::vector<double> wide(padded(rows.dim()));
    for (std::size_t r = 0; r < rows.rows(); ++r) {
      widen(rows.element(), rows.row(r), rows.dim(), wide.data());
      for (std::size_t i = 0; i < rows.dim(); ++i) views[v].push_back(static_cast<float>(wide[i]));
    }
  }
  return views;
}

std::vector<MatrixView<const float>> rows_of(const Views& views, std::size_t dim) {
  std::vector<MatrixView<const float>> rows;
  for (const auto& view : views) rows.emplace_back(view.data(), view.size() / dim, dim);
  return rows;
}

template <class Work>
double best_seconds(const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void run(const std::vector<std::string>& words) {
  const FeatureStore support(words[0]);
  const FeatureStore query(words[1]);
  const std::size_t count = words[2] == "all" ? support.views().size() : 1;
  const Views support_views = read_views(support, count);
  const Views query_views = read_views(query, count);
  ClassifierOptions options{
      .views = {support.views().begin(), support.views().begin() + static_cast<long>(count)},
      .pool = {},
      .origin = {},
      .method = FitMethod::deepvoro};
  if (words[2] == "1") options.pool = {{support.views().front(), {.lambda = 0.5}, Voronoi{}}};
  const NamedSamples samples{.classes = support.split(kSplit).classes,
                             .labels = support.labels(kSplit),
                             .names = {},
                             .views = support_views,
                             .dim = support.dim(support.views().front())};
  const unsigned threads = available_threads();
  const Classifier classifier = Classifier::fit(samples, options, threads);
  fmt::print("fit {}\n", best_seconds([&] { (void)Classifier::fit(samples, options, threads); }));
  std::vector<Prediction> predictions;
  const auto queries = rows_of(query_views, query.dim(query.views().front()));
  fmt::print("predict {}\n",
             best_seconds([&] { predictions = classifier.predict(queries, threads); }));
  std::vector<std::int64_t> answers;
  for (const Prediction& prediction : predictions)
    answers.push_back(std::stoll(classifier.classes()[prediction.label]));
  const std::vector<std::uint64_t> shape{answers.size()};
  write_npy(words[3], "<i8", shape, std::as_bytes(std::span(answers)));
}

}  // namespace
}  // namespace deepvoro

int main(int argc, char** argv) {
  try {
    deepvoro::run({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
