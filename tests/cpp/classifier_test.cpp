#include "deepvoro/classifier/classifier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "deepvoro/geometry/influence.hpp"
#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_code;
using test::expect_error;
using test::read_file;
using test::saved_bytes;
using test::TemporaryFolder;
using test::write_file;

constexpr std::size_t kDim = 21;
const std::vector<std::string> kViews{"s84_r0_f0", "s84_r0_f1"};

struct Sample {
  std::string class_name;
  std::string name;
  std::vector<std::vector<float>> views;
};

// Random samples, the number of each class given; owns the memory that samples() refers to.
class Samples {
 public:
  explicit Samples(std::vector<Sample> samples) : samples_(std::move(samples)) {
    for (std::size_t v = 0; v < kViews.size(); ++v) {
      auto& flat = rows_.emplace_back();
      for (const Sample& sample : samples_)
        flat.insert(flat.end(), sample.views[v].begin(), sample.views[v].end());
    }
  }

  [[nodiscard]] NamedSamples named() const {
    NamedSamples out;
    for (const Sample& sample : samples_) {
      auto found = std::ranges::find(out.classes, sample.class_name);
      if (found == out.classes.end())
        found = out.classes.insert(out.classes.end(), sample.class_name);
      out.labels.push_back(static_cast<std::size_t>(found - out.classes.begin()));
      out.names.push_back(sample.name);
    }
    out.views = rows_;
    out.dim = kDim;
    return out;
  }
  [[nodiscard]] std::vector<MatrixView<const float>> rows() const {
    std::vector<MatrixView<const float>> all;
    for (const auto& flat : rows_) all.emplace_back(flat.data(), samples_.size(), kDim);
    return all;
  }

 private:
  std::vector<Sample> samples_;
  std::vector<std::vector<float>> rows_;
};

std::vector<Sample> random_samples(const std::vector<std::pair<std::string, std::size_t>>& classes,
                                   std::uint32_t seed, float lowest = 0) {
  std::mt19937 random(seed);
  std::gamma_distribution<float> value(0.7F);
  std::vector<Sample> samples;
  for (const auto& [name, count] : classes) {
    std::vector<float> center(kDim);
    for (float& x : center) x = 3 * value(random);
    for (std::size_t i = 0; i < count; ++i) {
      Sample sample{name, "picture" + std::to_string(i), {}};
      for (std::size_t v = 0; v < kViews.size(); ++v) {
        auto& row = sample.views.emplace_back(center);
        for (float& x : row) x += value(random) + lowest;
      }
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

ClassifierOptions options(FitMethod method = FitMethod::deepvoro) {
  return {.views = kViews,
          .pool = {},
          .origin = {"conv4", "00ff", R"({"input_size":84,"architecture":{"name":"conv4"}})"},
          .method = method};
}

const std::vector<std::pair<std::string, std::size_t>> kUnequal{
    {"wren", 3}, {"owl", 1}, {"jay", 5}};

Classifier fit(const std::vector<Sample>& samples, FitMethod method = FitMethod::deepvoro) {
  return Classifier::fit(Samples(samples).named(), options(method));
}

LeftOutCount left_out(const Classifier& classifier) {
  return count_left_out(classifier.calibration(), classifier.labels());
}

// What every method does alike.
class AnyClassifier : public ::testing::TestWithParam<FitMethod> {};

INSTANTIATE_TEST_SUITE_P(Method, AnyClassifier,
                         ::testing::Values(FitMethod::ridge_vd, FitMethod::deepvoro),
                         [](const auto& method) {
                           return method.param == FitMethod::ridge_vd ? "RidgeVd" : "Deepvoro";
                         });

void expect_same_answers(const Classifier& a, const Classifier& b) {
  const Samples queries(random_samples({{"any", 20}}, 99));
  const auto of_a = a.predict(queries.rows());
  constexpr unsigned threads = 3;
  const auto of_b = b.predict(queries.rows(), threads);
  ASSERT_EQ(of_a.size(), of_b.size());
  for (std::size_t q = 0; q < of_a.size(); ++q) {
    EXPECT_EQ(of_a[q].label, of_b[q].label);
    EXPECT_EQ(of_a[q].unknown, of_b[q].unknown);
    EXPECT_EQ(of_a[q].distance, of_b[q].distance);
    EXPECT_EQ(of_a[q].influence, of_b[q].influence);
    EXPECT_EQ(of_a[q].probabilities, of_b[q].probabilities);
  }
}

TEST(Classifier, OrdersClassesAndSamplesByName) {
  const Classifier classifier = fit(random_samples(kUnequal, 1));
  EXPECT_EQ(classifier.classes(), (std::vector<std::string>{"jay", "owl", "wren"}));
  EXPECT_EQ(classifier.labels(), (std::vector<std::size_t>{0, 0, 0, 0, 0, 1, 2, 2, 2}));
  EXPECT_EQ(classifier.pool().size(), 16U);
}

TEST_P(AnyClassifier, ProbabilitiesAreOnesTogetherAndLargestWhereTheInfluenceIs) {
  const Classifier classifier = fit(random_samples(kUnequal, 1), GetParam());
  const Samples queries(random_samples({{"any", 20}}, 99));
  for (const Prediction& prediction : classifier.predict(queries.rows())) {
    const auto& p = prediction.probabilities;
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-12);
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::max_element(p) - p.begin()), prediction.label);
    EXPECT_EQ(cell_of(prediction.influence), prediction.label);
  }
}

TEST_P(AnyClassifier, AnswersTheSameAfterLoading) {
  for (const float lowest : {0.0F, -1.0F}) {
    const Classifier fitted = fit(random_samples(kUnequal, 2, lowest), GetParam());
    const TemporaryFolder folder;
    fitted.save(folder / "birds.dv");
    const Classifier loaded = Classifier::load(folder / "birds.dv");
    EXPECT_EQ(loaded.classes(), fitted.classes());
    EXPECT_EQ(loaded.names(), fitted.names());
    EXPECT_EQ(loaded.pool(), fitted.pool());
    EXPECT_EQ(loaded.origin().sha256, fitted.origin().sha256);
    EXPECT_EQ(loaded.calibration(), fitted.calibration());
    expect_same_answers(fitted, loaded);
    EXPECT_EQ(saved_bytes(loaded), read_file(folder / "birds.dv"));
  }
}

TEST_P(AnyClassifier, AFileSaysThatPicturesWereDecodedAtAFractionOfTheirSize) {
  for (const bool fast_decode : {false, true}) {
    ClassifierOptions so = options(GetParam());
    so.origin.fast_decode = fast_decode;
    const TemporaryFolder folder;
    Classifier::fit(Samples(random_samples(kUnequal, 2)).named(), so).save(folder / "birds.dv");
    const Classifier loaded = Classifier::load(folder / "birds.dv");
    EXPECT_EQ(loaded.origin().fast_decode, fast_decode);
    EXPECT_EQ(loaded.without("owl").origin().fast_decode, fast_decode);
    EXPECT_EQ(read_file(folder / "birds.dv").find("fast_decode") == std::string::npos,
              !fast_decode);
  }
}

TEST_P(AnyClassifier, RoundedFeaturesTakeHalfTheRoom) {
  std::vector<Sample> samples = random_samples({{"a", 40}, {"b", 40}}, 3);
  const std::size_t wide = saved_bytes(fit(samples, GetParam())).size();
  for (Sample& sample : samples)
    for (auto& row : sample.views)
      for (float& x : row) x = std::round(x * 64) / 64;
  const Classifier rounded = fit(samples, GetParam());
  const std::string bytes = saved_bytes(rounded);
  EXPECT_NEAR(static_cast<double>(wide - bytes.size()), 80.0 * 2 * kDim * 2, 64);  // and the head
  const TemporaryFolder folder;
  rounded.save(folder / "rounded.dv");
  expect_same_answers(rounded, Classifier::load(folder / "rounded.dv"));
}

TEST_P(AnyClassifier, AddingGivesTheSameBytesAsFittingAtOnce) {
  std::vector<Sample> all = random_samples(kUnequal, 4);
  const std::string expected = saved_bytes(fit(all, GetParam()));
  std::mt19937 random(5);
  for (int trial = 0; trial < 10; ++trial) {
    std::ranges::shuffle(all, random);
    const auto cut = static_cast<std::ptrdiff_t>(1 + random() % (all.size() - 1));
    const std::vector<Sample> first(all.begin(), all.begin() + cut);
    const TemporaryFolder folder;
    fit(first, GetParam()).save(folder / "grown.dv");
    for (auto next = all.begin() + cut; next != all.end(); ++next)
      Classifier::load(folder / "grown.dv")
          .with(Samples({*next}).named())
          .save(folder / "grown.dv");
    EXPECT_EQ(read_file(folder / "grown.dv"), expected) << "cut at " << cut;
  }
}

TEST_P(AnyClassifier, RemovingGivesTheSameBytesAsNeverHavingHadIt) {
  const std::vector<Sample> all = random_samples(kUnequal, 6);
  for (const auto& entry : kUnequal) {
    std::vector<Sample> others = all;
    std::erase_if(others, [&](const Sample& s) { return s.class_name == entry.first; });
    EXPECT_EQ(saved_bytes(fit(all, GetParam()).without(entry.first)),
              saved_bytes(fit(others, GetParam())));
  }
}

// One class has negative features, so all transformations are signed; without it none is.
TEST(Classifier, SignedTransformationsComeAndGoWithNegativeFeatures) {
  std::vector<Sample> all = random_samples({{"a", 2}, {"b", 2}}, 7);
  const Classifier plain = fit(all);
  EXPECT_FALSE(plain.pool().front().transform.is_signed);
  const std::vector<Sample> negative = random_samples({{"c", 1}}, 8, -2);
  const Classifier grown = plain.with(Samples(negative).named());
  EXPECT_TRUE(grown.pool().front().transform.is_signed);
  EXPECT_EQ(saved_bytes(grown.without("c")), saved_bytes(plain));
}

TEST(Classifier, ViewsWithoutNamesAreNumbered) {
  const Samples samples(random_samples({{"owl", 2}, {"wren", 2}}, 5));
  const Classifier unnamed = Classifier::fit(samples.named());
  EXPECT_EQ(unnamed.views(), (std::vector<std::string>{"view1", "view2"}));
  EXPECT_EQ(unnamed.predict(samples.rows()).front().influence,
            Classifier::fit(samples.named(), {.views = kViews})
                .predict(samples.rows())
                .front()
                .influence);
}

TEST(Classifier, SamplesWithoutNamesAreNumbered) {
  const Samples samples(random_samples({{"a", 2}, {"b", 1}}, 9));
  NamedSamples numbered = samples.named();
  numbered.names.clear();
  const Classifier first = Classifier::fit(numbered, options());
  EXPECT_EQ(first.names(), (std::vector<std::string>{"0", "1", "0"}));
  EXPECT_EQ(first.with(numbered).names(), (std::vector<std::string>{"0", "1", "2", "3", "0", "1"}));
}

TEST(Classifier, LeavingOutOneSampleIsFittingWithoutIt) {
  const std::vector<Sample> all = random_samples({{"a", 3}, {"b", 2}, {"c", 4}, {"d", 1}}, 10);
  const Classifier classifier = fit(all);
  std::vector<double> expected;  // influence without the sample, of all classes
  std::vector<std::size_t> labels;
  std::size_t correct = 0;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {  // the last one is alone in its class
    std::vector<Sample> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Prediction prediction = fit(others).predict(Samples({all[i]}).rows()).front();
    expected.insert(expected.end(), prediction.influence.begin(), prediction.influence.end());
    labels.push_back(classifier.labels()[i]);
    if (prediction.label == labels.back()) ++correct;
  }
  EXPECT_EQ(left_out(classifier).samples, labels.size());
  EXPECT_EQ(left_out(classifier).correct, correct);

  // From these, the same temperature and threshold follow.
  const auto whole = classifier.predict(Samples(all).rows());
  double strangers = 0;
  double nearest_stranger = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    double nearest = -1e300;
    for (std::size_t k = 0; k < 4; ++k) {
      if (k == classifier.labels()[i]) continue;
      strangers += whole[i].influence[k] / 3 / static_cast<double>(all.size());
      nearest = std::max(nearest, whole[i].influence[k]);
    }
    nearest_stranger += nearest / static_cast<double>(all.size());
  }
  const MatrixView<const double> influence(expected.data(), labels.size(), 4);
  const double temperature = best_temperature(influence, labels, {-0.08 * strangers, 8});
  EXPECT_NEAR(classifier.calibration().temperature, temperature, 1e-5 * temperature);
  double own = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    own += *std::ranges::max_element(influence[i]) / static_cast<double>(labels.size());
  EXPECT_NEAR(classifier.calibration().threshold(), -(own + nearest_stranger) / 2, 1e-5);
  EXPECT_NEAR(classifier.calibration().threshold(Strictness::low),
              -(own + 3 * nearest_stranger) / 4, 1e-5);
  EXPECT_NEAR(classifier.calibration().threshold(Strictness::high),
              -(3 * own + nearest_stranger) / 4, 1e-5);
}

TEST(Classifier, CalibratesOnSamplesFromAllPartsOfALargeSupport) {
  constexpr std::size_t most = 1000;
  const std::vector<Sample> all = random_samples({{"a", 600}, {"b", 500}, {"c", 400}}, 20);
  const Classifier classifier = fit(all);
  ASSERT_EQ(left_out(classifier).samples, most);
  std::vector<Sample> sorted = all;  // "picture10" comes before "picture2"
  std::ranges::sort(sorted, {}, [](const Sample& s) { return std::pair(s.class_name, s.name); });
  std::vector<Sample> chosen;
  std::vector<std::size_t> labels;
  for (std::size_t i = 0; i < most; ++i) {
    chosen.push_back(sorted[i * sorted.size() / most]);
    labels.push_back(static_cast<std::size_t>(chosen.back().class_name[0] - 'a'));
  }
  Matrix<double> influence(most, 3);
  const auto predictions = classifier.predict(Samples(chosen).rows());
  for (std::size_t i = 0; i < most; ++i)
    std::ranges::copy(predictions[i].influence, influence.row(i));
  const Calibration expected =
      calibrate(influence.view(), labels, std::vector<std::size_t>{600, 500, 400});
  EXPECT_EQ(classifier.calibration().temperature, expected.temperature);
  EXPECT_EQ(classifier.calibration().thresholds, expected.thresholds);
  std::vector<std::optional<std::size_t>> answers;
  for (std::size_t i = 0; i < most; ++i)
    answers.push_back(classifier.calibration().left_out[i * sorted.size() / most]);
  EXPECT_EQ(answers, expected.left_out);
}

TEST(Classifier, SingleSamplesAreCalibratedByDistances) {
  const Classifier classifier = fit(random_samples({{"a", 1}, {"b", 1}, {"c", 1}}, 11));
  EXPECT_EQ(left_out(classifier).samples, 0U);
  EXPECT_GT(classifier.calibration().temperature, 0);
  EXPECT_GT(classifier.calibration().threshold(), 0);
}

TEST(Classifier, OneClassTakesEverything) {
  const Classifier classifier = fit(random_samples({{"only", 3}}, 12));
  const Samples queries(random_samples({{"any", 3}}, 99));
  for (const Prediction& prediction : classifier.predict(queries.rows())) {
    EXPECT_EQ(prediction.probabilities, std::vector<double>{1});
    EXPECT_FALSE(prediction.unknown);
  }
}

TEST_P(AnyClassifier, EqualClassesShareTheProbability) {
  std::vector<Sample> samples = random_samples({{"a", 1}}, 13);
  samples.push_back(samples.front());
  samples.back().class_name = "b";
  const Classifier classifier = fit(samples, GetParam());
  const Samples queries(random_samples({{"any", 3}}, 99));
  for (const Prediction& prediction : classifier.predict(queries.rows())) {
    EXPECT_EQ(prediction.label, 0U);
    EXPECT_NEAR(prediction.probabilities[0], 0.5, 1e-12);
    EXPECT_NEAR(prediction.probabilities[1], 0.5, 1e-12);
  }
}

TEST(Classifier, FarQueriesAreUnknownAndNearOnesAreNot) {
  const std::vector<Sample> samples = random_samples({{"a", 5}, {"b", 5}}, 14);
  const Classifier classifier = fit(samples);
  for (const Prediction& prediction : classifier.predict(Samples(samples).rows()))
    EXPECT_FALSE(prediction.unknown);
  std::vector<Sample> strange = {samples.front()};
  for (auto& row : strange.front().views)
    for (std::size_t i = 0; i < kDim; ++i) row[i] = i == 0 ? 1.0F : 0.0F;
  EXPECT_TRUE(classifier.predict(Samples(strange).rows()).front().unknown);
}

// Two classes in one point: the threshold is the distance there, 0.
TEST(Classifier, AQueryRightAtTheThresholdIsUnknown) {
  std::vector<Sample> samples = random_samples({{"a", 1}}, 21);
  samples.push_back(samples.front());
  samples.back().class_name = "b";
  const Classifier classifier = fit(samples);
  ASSERT_EQ(classifier.calibration().threshold(), 0);
  const Prediction prediction = classifier.predict(Samples({samples.front()}).rows()).front();
  ASSERT_EQ(prediction.influence, (std::vector<double>{0, 0}));
  EXPECT_TRUE(prediction.unknown);
}

TEST(Classifier, ExplanationAddsUpToThePrediction) {
  const std::vector<Sample> samples = random_samples(kUnequal, 15);
  const Classifier classifier = fit(samples);
  std::vector<std::span<const float>> query;
  for (const auto& row : samples[1].views) query.emplace_back(row);
  const Explanation explanation = classifier.explain(query, 4);
  const Prediction expected = classifier.predict(Samples({samples[1]}).rows()).front();
  EXPECT_EQ(explanation.prediction.influence, expected.influence);
  EXPECT_EQ(explanation.views.size(), 2U);
  EXPECT_EQ(explanation.transformations.size(), 8U);
  EXPECT_EQ(explanation.geometries.size(), 1U);
  for (const auto* level :
       {&explanation.views, &explanation.transformations, &explanation.geometries}) {
    for (std::size_t k = 0; k < 3; ++k) {
      double sum = 0;
      for (const auto& part : *level)
        sum += part.influence[k] * static_cast<double>(part.members) / 16;
      EXPECT_NEAR(sum, expected.influence[k], 1e-9);
    }
    std::size_t votes = 0;
    for (const auto& part : *level)
      votes += std::accumulate(part.votes.begin(), part.votes.end(), std::size_t{0});
    EXPECT_EQ(votes, 16U);
  }
  ASSERT_EQ(explanation.neighbours.size(), 4U);
  EXPECT_EQ(explanation.neighbours[0].name, "picture1");
  EXPECT_EQ(classifier.classes()[explanation.neighbours[0].label], "wren");
  EXPECT_EQ(explanation.neighbours[0].distance, 0);
  EXPECT_LE(explanation.neighbours[1].distance, explanation.neighbours[2].distance);
}

TEST(Classifier, ExplanationByTwoDiagramsAddsUpToThePrediction) {
  const std::vector<Sample> samples = random_samples(kUnequal, 15);
  const Classifier classifier = fit(samples, FitMethod::ridge_vd);
  std::vector<std::span<const float>> query;
  for (const auto& row : samples[1].views) query.emplace_back(row);
  const Explanation explanation = classifier.explain(query, 4);
  const Prediction expected = classifier.predict(Samples({samples[1]}).rows()).front();
  EXPECT_EQ(explanation.prediction.influence, expected.influence);
  ASSERT_EQ(explanation.geometries.size(), 2U);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_EQ(explanation.geometries[0].influence[k] + explanation.geometries[1].influence[k],
              expected.influence[k]);
  ASSERT_EQ(explanation.views.size(), 2U);
  std::vector<Sample> alone{samples[1]};  // both views are the first one
  alone.front().views[1] = alone.front().views[0];
  EXPECT_EQ(explanation.views[0].influence,
            classifier.predict(Samples(alone).rows()).front().influence);
  ASSERT_EQ(explanation.neighbours.size(), 4U);
  EXPECT_EQ(explanation.neighbours[0].name, "picture1");
  EXPECT_EQ(explanation.neighbours[0].distance, 0);
  EXPECT_LE(explanation.neighbours[1].distance, explanation.neighbours[2].distance);
}

TEST(Classifier, IsMadeByRidgeAndMeansUnlessMembersAreGiven) {
  const Samples samples(random_samples(kUnequal, 1));
  const Classifier usual = Classifier::fit(samples.named(), {.views = kViews});
  EXPECT_EQ(usual.method(), FitMethod::ridge_vd);
  EXPECT_TRUE(usual.pool().empty());
  const Pool pool{{kViews[0], {.lambda = 0.5}, Voronoi{}}};
  EXPECT_EQ(Classifier::fit(samples.named(), {.views = kViews, .pool = pool}).method(),
            FitMethod::deepvoro);
  expect_error(ErrorKind::usage, {"`pool`", "ridge-vd"}, [&] {
    (void)Classifier::fit(samples.named(),
                          {.views = kViews, .pool = pool, .method = FitMethod::ridge_vd});
  });
  expect_error(ErrorKind::data, {"plda", "statistics"}, [&] {
    (void)Classifier::fit(samples.named(), {.views = kViews, .method = FitMethod::plda});
  });
  EXPECT_EQ(fit_method_named("plda"), FitMethod::plda);
  expect_error(ErrorKind::usage, {"`method` vd", "ridge-vd"}, [] { (void)fit_method_named("vd"); });
}

TEST(Classifier, OneClassIsADetector) {
  const std::vector<Sample> samples = random_samples({{"only", 6}}, 12);
  const Classifier classifier = fit(samples, FitMethod::ridge_vd);
  for (const Prediction& prediction : classifier.predict(Samples(samples).rows())) {
    EXPECT_EQ(prediction.probabilities, std::vector<double>{1});
    EXPECT_FALSE(prediction.unknown);
  }
  std::vector<Sample> strange = {samples.front()};
  for (auto& row : strange.front().views)
    for (std::size_t i = 0; i < kDim; ++i) row[i] = i == 0 ? 1.0F : 0.0F;
  EXPECT_TRUE(classifier.predict(Samples(strange).rows()).front().unknown);
}

TEST(Classifier, SaysWhatIsWrongWithSamples) {
  const std::vector<Sample> samples = random_samples({{"Jay", 1}, {"owl", 2}}, 16);
  const Classifier classifier = fit(samples);
  const auto add = [&](std::vector<Sample> more) {
    return [&classifier, more = std::move(more)] { (void)classifier.with(Samples(more).named()); };
  };
  std::vector<Sample> one = random_samples({{"jay", 1}}, 17);
  expect_error(ErrorKind::data, {"'Jay'", "'jay'", "case"}, add(one));
  one.front().class_name = "owl";
  expect_error(ErrorKind::data, {"owl", "picture0", "twice"}, add(one));
  EXPECT_EQ(saved_bytes(classifier.with(Samples(samples).named())), saved_bytes(classifier));
  one.front().class_name = "bad\nname";
  expect_error(ErrorKind::data, {"name that is not UTF-8"}, add(one));
  one.front().class_name = "kea";
  one.front().views[1][3] = NAN;
  expect_error(ErrorKind::data, {"kea", "picture0", "not finite"}, add(one));
  expect_error(ErrorKind::data, {"no class 'emu'"}, [&] { (void)classifier.without("emu"); });
  expect_code(ErrorCode::missing_class, [&] { (void)classifier.without("emu"); });
  expect_error(ErrorKind::data, {"no class would be left"},
               [&] { (void)classifier.without("Jay").without("owl"); });

  const Samples good(samples);
  NamedSamples empty_class = good.named();
  empty_class.classes.push_back("kiwi");
  expect_error(ErrorKind::data, {"'kiwi' has no samples"},
               [&] { (void)Classifier::fit(empty_class, options()); });
  empty_class.classes.back() = "owl";
  expect_error(ErrorKind::data, {"'owl' appears twice"},
               [&] { (void)Classifier::fit(empty_class, options()); });
  NamedSamples one_view = good.named();
  one_view.views.pop_back();
  expect_error(ErrorKind::usage, {"2 views", "not 1"},
               [&] { (void)Classifier::fit(one_view, options()); });
  expect_error(ErrorKind::usage, {"2 views", "not 1"},
               [&] { (void)classifier.predict(one_view.rows()); });
  ClassifierOptions surrogate = options();
  surrogate.pool = {{kViews[0], {}, Surrogate{}}};
  expect_error(ErrorKind::usage, {"surrogate", "base"},
               [&] { (void)Classifier::fit(good.named(), surrogate); });
}

TEST(ClassifierFile, DamageIsFoundWhereverItIs) {
  const TemporaryFolder folder;
  const Classifier classifier = fit(random_samples(kUnequal, 18));
  const std::string whole = saved_bytes(classifier);
  const auto damaged = folder / "damaged.dv";
  const auto expect_refused = [&] {
    expect_error(ErrorKind::data, {"damaged.dv"}, [&] { (void)Classifier::load(damaged); });
  };
  for (std::size_t length = 0; length < whole.size(); length += length < 40 ? 1 : 37) {
    write_file(damaged, whole.substr(0, length));
    expect_refused();
  }
  std::mt19937 random(19);
  for (std::size_t place = 0; place < whole.size(); place += 1 + random() % 9) {
    std::string bytes = whole;
    bytes[place] =
        static_cast<char>(static_cast<unsigned char>(bytes[place]) ^ (1U << random() % 8));
    write_file(damaged, bytes);
    // A space that became another kind of space changes nothing.
    const bool blank = whole[place] == ' ' && (bytes[place] == '\t' || bytes[place] == '\n');
    if (!blank) expect_refused();
  }
}

TEST(ClassifierFile, ErrorsSayByACodeWhatIsWrong) {
  const TemporaryFolder folder;
  const auto load = [&] { (void)Classifier::load(folder / "a.dv"); };
  expect_code(ErrorCode::missing_file, load);
  std::string bytes = saved_bytes(fit(random_samples(kUnequal, 18)));
  write_file(folder / "a.dv", bytes.substr(0, 20));
  expect_code(ErrorCode::damaged_file, load);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);  // a feature, which the hash covers
  write_file(folder / "a.dv", bytes);
  expect_code(ErrorCode::damaged_file, load);
}

TEST(ClassifierFile, ForeignFilesAreRefused) {
  const TemporaryFolder folder;
  const auto file = folder / "foreign.dv";
  expect_error(ErrorKind::data, {"foreign.dv"}, [&] { (void)Classifier::load(file); });
  for (const std::string_view contents :
       {std::string_view("\x89PNG\r\n\x1a\n and so on"), std::string_view("{\"format\":1}")}) {
    write_file(file, contents);
    expect_error(ErrorKind::data, {"foreign.dv"}, [&] { (void)Classifier::load(file); });
  }
  const std::string head = R"({"__metadata__":{"deepvoro":"{\"format\":\"deepvoro-model\"}"}} )";
  write_file(file, std::string(1, static_cast<char>(head.size())) + std::string(7, '\0') + head);
  expect_error(ErrorKind::data, {"foreign.dv", "another kind", "classifier made by 'deepvoro fit'"},
               [&] { (void)Classifier::load(file); });
}

}  // namespace
}  // namespace deepvoro
