#include "study/answer_counter.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace deepvoro {
namespace {

// The lower end of Wilson's 95% interval of a share: what was asked once says little.
double surely_wrong(std::uint64_t wrong, std::uint64_t asked) {
  constexpr double z = 1.96;
  const auto n = static_cast<double>(asked);
  const double share = static_cast<double>(wrong) / n;
  return (share + z * z / (2 * n) - z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n))) /
         (1 + z * z / n);
}

}  // namespace

void read_answers(std::span<const double> scores, std::span<std::uint32_t> answers) {
  const std::size_t ways = scores.size() / answers.size();
  for (std::size_t q = 0; q < answers.size(); ++q) {
    const auto of_query = scores.subspan(q * ways, ways);
    answers[q] = static_cast<std::uint32_t>(std::ranges::max_element(of_query) - of_query.begin());
  }
}

AnswerCounter::AnswerCounter(const FeatureStore& store, const std::string& split,
                             const EpisodeList& episodes)
    : episodes_(episodes),
      labels_(store.labels(split)),
      drawn_(labels_.size(), {episodes.rows()}),
      split_(store.split(split)),
      samples_(drawn_.size()),
      sums_(split_.classes.size()) {
  const std::size_t classes = split_.classes.size();
  if (classes <= kMostConfusedClasses) confusion_.resize(classes * classes);
}

void AnswerCounter::add(std::span<const std::uint32_t> answers) {
  const Episode episode = episodes_[next_++];
  const auto [ways, shots, queries] = episodes_.shape();
  for (std::size_t k = 0; k < ways; ++k) {
    const std::size_t of_class = labels_[episode.support[k * shots]];
    std::uint64_t right = 0;
    for (std::size_t q = k * queries; q < (k + 1) * queries; ++q) {
      const std::size_t answer = answers[q];
      const std::size_t taken_for = labels_[episode.support[answer * shots]];
      if (!confusion_.empty()) ++confusion_[of_class * split_.classes.size() + taken_for];
      Counted& sample = samples_[drawn_.place(episode.query[q])];
      ++sample.asked;
      if (answer == k) {
        ++right;
        continue;
      }
      ++sample.wrong;
      const auto known = std::ranges::find(sample.taken_for, taken_for,
                                           &std::pair<std::size_t, std::uint64_t>::first);
      if (known != sample.taken_for.end())
        ++known->second;
      else
        sample.taken_for.emplace_back(taken_for, 1);
    }
    Sums& sums = sums_[of_class];
    ++sums.episodes;
    sums.right += right;
    sums.squares += right * right;
  }
}

std::vector<Answers::HardQuery> AnswerCounter::hardest() const {
  std::vector<std::pair<double, std::size_t>> wrong;  // how surely, and which
  for (std::size_t s = 0; s < samples_.size(); ++s)
    if (samples_[s].wrong > 0)
      wrong.emplace_back(-surely_wrong(samples_[s].wrong, samples_[s].asked), s);
  const std::size_t kept = std::min(wrong.size(), kHardQueries);
  std::ranges::partial_sort(wrong, wrong.begin() + static_cast<std::ptrdiff_t>(kept));
  wrong.resize(kept);
  std::vector<Answers::HardQuery> found;
  for (const auto& [surely, s] : wrong) {
    const std::size_t row = drawn_.rows()[s];
    const auto place = std::count(labels_.begin(),
                                  labels_.begin() + static_cast<std::ptrdiff_t>(row), labels_[row]);
    const auto most = std::ranges::max_element(samples_[s].taken_for, {},
                                               &std::pair<std::size_t, std::uint64_t>::second);
    found.push_back({.of_class = labels_[row],
                     .place = static_cast<std::size_t>(place),
                     .asked = samples_[s].asked,
                     .wrong = samples_[s].wrong,
                     .taken_for = most->first});
  }
  return found;
}

Answers AnswerCounter::answers() const {
  Answers answers{.classes = {}, .confusion = confusion_, .hardest = hardest()};
  const auto queries = static_cast<double>(episodes_.shape().queries);
  std::vector<std::size_t> samples(split_.classes.size());
  for (const std::size_t label : labels_) ++samples[label];
  for (std::size_t c = 0; c < split_.classes.size(); ++c) {
    const Sums& sums = sums_[c];
    Answers::OfClass of_class{.name = split_.classes[c],
                              .samples = samples[c],
                              .asked = sums.episodes * episodes_.shape().queries,
                              .right = sums.right};
    if (sums.episodes > 0) {
      const auto n = static_cast<double>(sums.episodes);
      const double mean = static_cast<double>(sums.right) / n;
      const double variance = std::max(0.0, static_cast<double>(sums.squares) / n - mean * mean);
      of_class.ci95 = 100 / queries * 1.96 * std::sqrt(variance / n);
    }
    answers.classes.push_back(std::move(of_class));
  }
  return answers;
}

}  // namespace deepvoro
