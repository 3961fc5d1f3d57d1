#include <gtest/gtest.h>

#include "deepvoro/classifier/classifier.hpp"
#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::random_split;
using test::saved_bytes;
using test::SplitData;
using test::TemporaryFolder;
using test::write_store;

// What a split holds, as a caller would hand it over.
NamedSamples samples_of(const SplitData& split, const std::vector<std::size_t>& rows) {
  NamedSamples samples{.dim = split.views.begin()->second.front().size()};
  samples.classes = split.classes;
  for (const std::size_t row : rows)
    samples.labels.push_back(static_cast<std::size_t>(split.labels[row]));
  for (const auto& [view, all] : split.views) {
    auto& flat = samples.views.emplace_back();
    for (const std::size_t row : rows) flat.insert(flat.end(), all[row].begin(), all[row].end());
  }
  return samples;
}

class ClassifierOfStore : public ::testing::Test {
 protected:
  ClassifierOfStore() {
    write_store(folder_.path(), {{"novel", novel_}, {"val", val_}});
    for (std::size_t i = 0; i < novel_.labels.size(); ++i) all_.push_back(i);
  }
  [[nodiscard]] FeatureStore store() const { return FeatureStore(folder_.path()); }
  [[nodiscard]] Classifier of_rows() const {
    return Classifier::fit(samples_of(novel_, all_),
                           {.views = store().views(), .pool = {}, .origin = {}});
  }

  TemporaryFolder folder_;
  SplitData novel_ = random_split({.classes = 4, .samples_per_class = 5, .seed = 1});
  SplitData val_ = random_split({.classes = 3, .samples_per_class = 6, .seed = 2});
  std::vector<std::size_t> all_;
};

TEST_F(ClassifierOfStore, IsThatOfItsRows) {
  EXPECT_EQ(saved_bytes(Classifier::fit(store())), saved_bytes(of_rows()));
  EXPECT_EQ(saved_bytes(Classifier::fit(store(), "novel", {}, 3)), saved_bytes(of_rows()));
  EXPECT_NE(saved_bytes(Classifier::fit(store(), "val")), saved_bytes(of_rows()));
  const Pool pool{{store().views().front(), {.lambda = 0.5}, Voronoi{}}};
  EXPECT_EQ(Classifier::fit(store(), "", pool).pool().size(), 1U);
  expect_error(ErrorKind::data, {"base"}, [&] { (void)Classifier::fit(store(), "base"); });
}

TEST_F(ClassifierOfStore, AnswersToTheRowsOfAStore) {
  const Classifier classifier = of_rows();
  for (const auto& [split, data] : {std::pair{"novel", novel_}, {"val", val_}}) {
    std::vector<std::size_t> rows(data.labels.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    const auto expected = classifier.predict(samples_of(data, rows).rows());
    const auto answers = classifier.predict(store(), split, 2);
    ASSERT_EQ(answers.size(), expected.size());
    for (std::size_t i = 0; i < answers.size(); ++i)
      EXPECT_EQ(answers[i].influence, expected[i].influence);
  }
}

TEST_F(ClassifierOfStore, TakesAClassOfAStore) {
  const Classifier classifier = of_rows();
  const std::string& name = novel_.classes[2];
  // Without names samples are numbered, so a class that comes back is the one that was removed.
  EXPECT_EQ(saved_bytes(classifier.without(name).with(store(), name)), saved_bytes(classifier));
  expect_error(ErrorKind::data, {"split val", "no class 'emu'"},
               [&] { (void)classifier.with(store(), "emu", "val"); });
}

TEST_F(ClassifierOfStore, RefusesFeaturesOfAnotherKind) {
  const TemporaryFolder other;
  write_store(other.path(), {{"novel", random_split({.classes = 3, .dim = 6})}});
  const Classifier classifier = of_rows();
  expect_error(ErrorKind::data, {"6 dimensions", "needs 5"},
               [&] { (void)classifier.predict(FeatureStore(other.path())); });
  const Classifier of_a_model =
      Classifier::fit(samples_of(novel_, all_),
                      {.views = store().views(), .pool = {}, .origin = {"conv4", "00ff", "{}"}});
  expect_error(ErrorKind::data, {"another model"},
               [&] { (void)of_a_model.predict(store(), "novel"); });
  expect_error(ErrorKind::data, {"another model"},
               [&] { (void)of_a_model.with(store(), novel_.classes[0]); });
  const TemporaryFolder one_view;
  write_store(one_view.path(), {{"novel", random_split({.classes = 3, .views = {"s84_r0_f0"}})}});
  expect_error(ErrorKind::data, {"no view 's84_r0_f1'"},
               [&] { (void)classifier.predict(FeatureStore(one_view.path())); });
}

}  // namespace
}  // namespace deepvoro
