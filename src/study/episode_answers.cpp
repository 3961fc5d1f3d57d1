#include "study/episode_answers.hpp"

#include <algorithm>

#include "ensemble/influence_field.hpp"
#include "study/answer_counter.hpp"

namespace deepvoro {

void EpisodeAnswers::add(std::span<const double> scores, const EpisodeShape& shape) {
  answers.resize(answers.size() + shape.total_queries());
  const std::span<std::uint32_t> of_episode = std::span(answers).last(shape.total_queries());
  read_answers(scores, of_episode);
  std::uint64_t correct = 0;
  for (std::size_t q = 0; q < of_episode.size(); ++q)
    correct += of_episode[q] == q / shape.queries ? 1U : 0U;
  accuracy.push_back(percent_of_queries(correct, shape));
}

std::vector<std::byte> EpisodeAnswers::bytes() const {
  const auto of_accuracy = std::as_bytes(std::span(accuracy));
  const auto of_answers = std::as_bytes(std::span(answers));
  std::vector<std::byte> all(of_accuracy.begin(), of_accuracy.end());
  all.insert(all.end(), of_answers.begin(), of_answers.end());
  return all;
}

bool read_episode_answers(std::span<const std::byte> bytes, std::size_t episodes,
                          const EpisodeShape& shape, EpisodeAnswers& out) {
  out.accuracy.resize(episodes);
  out.answers.resize(episodes * shape.total_queries());
  const auto accuracy = std::as_writable_bytes(std::span(out.accuracy));
  const auto answers = std::as_writable_bytes(std::span(out.answers));
  if (bytes.size() != accuracy.size() + answers.size()) return false;
  std::ranges::copy(bytes.first(accuracy.size()), accuracy.begin());
  std::ranges::copy(bytes.subspan(accuracy.size()), answers.begin());
  return std::ranges::all_of(out.accuracy,
                             [](double percent) { return percent >= 0 && percent <= 100; }) &&
         std::ranges::all_of(out.answers, [&](std::uint32_t way) { return way < shape.ways; });
}

}  // namespace deepvoro
