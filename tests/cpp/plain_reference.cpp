#include "plain_reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>

namespace deepvoro::test {
namespace {

long double climb(long double y, const Transform& transform) {
  const auto lambda = static_cast<long double>(transform.lambda);
  if (lambda == 1) return y;
  if (!transform.is_signed) return lambda == 0 ? std::log(y) : std::pow(y, lambda);
  const long double magnitude =
      lambda == 0 ? std::log(1 + std::abs(y)) : std::pow(std::abs(y), lambda);
  return y < 0 ? -magnitude : magnitude;
}

long double distance(const LongRow& a, const LongRow& b) {
  long double squared = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squared += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squared);
}

LongRow mean(const std::vector<LongRow>& rows) {
  LongRow sum(rows.front().size());
  for (const LongRow& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) sum[i] += row[i];
  for (long double& value : sum) value /= static_cast<long double>(rows.size());
  return sum;
}

LongRow distances(const LongRow& from, const std::vector<LongRow>& to) {
  LongRow all;
  for (const LongRow& row : to) all.push_back(distance(from, row));
  return all;
}

LongRow summing_to_one(LongRow values) {
  const long double sum = std::accumulate(values.begin(), values.end(), 0.0L);
  if (sum > 0)
    for (long double& value : values) value /= sum;
  return values;
}

std::vector<LongRow> class_means(const SplitData& split, const Member& member) {
  std::vector<std::vector<LongRow>> rows(split.classes.size());
  const Rows& view = split.views.at(member.view);
  for (std::size_t r = 0; r < view.size(); ++r)
    rows[static_cast<std::size_t>(split.labels[r])].push_back(
        plain_transform(view[r], member.transform));
  std::vector<LongRow> means;
  for (const auto& of_class : rows) means.push_back(mean(of_class));
  return means;
}

// The base prototypes among the R nearest of any episode prototype.
std::vector<LongRow> surrogates(const std::vector<LongRow>& prototypes,
                                const std::vector<LongRow>& base, std::size_t R) {
  std::set<std::size_t> chosen;
  for (const LongRow& prototype : prototypes) {
    const LongRow to_base = distances(prototype, base);
    std::vector<std::size_t> order(base.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t t) { return to_base[t]; });
    order.resize(std::min(R, order.size()));
    chosen.insert(order.begin(), order.end());
  }
  std::vector<LongRow> rows;
  for (const std::size_t t : chosen) rows.push_back(base[t]);
  return rows;
}

LongRow combined(const LongRow& query, const std::vector<LongRow>& prototypes,
                 const std::vector<LongRow>& surrogate_rows, const Surrogate& geometry) {
  const LongRow of_query = distances(query, surrogate_rows);
  LongRow second;
  for (const LongRow& prototype : prototypes)
    second.push_back(distance(of_query, distances(prototype, surrogate_rows)));
  const LongRow d = summing_to_one(distances(query, prototypes));
  second = summing_to_one(second);
  LongRow values;
  for (std::size_t k = 0; k < d.size(); ++k)
    values.push_back(geometry.beta * d[k] + geometry.gamma * second[k]);
  return values;
}

}  // namespace

LongRow plain_transform(const std::vector<float>& row, const Transform& transform) {
  long double squares = 0;
  for (const float value : row) squares += static_cast<long double>(value) * value;
  const long double norm = std::sqrt(squares);
  LongRow result;
  for (const float value : row)
    result.push_back(climb(transform.w * (norm > 0 ? value / norm : 0) + transform.b, transform));
  return result;
}

std::vector<double> plain_terms(const StoreData& store, const std::string& split,
                                const Member& member, const Episode& episode,
                                const EpisodeShape& shape, double alpha) {
  const Rows& view = store.at(split).views.at(member.view);
  const auto transformed = [&](SampleIndex row) {
    return plain_transform(view[row], member.transform);
  };
  std::vector<LongRow> prototypes;
  for (std::size_t k = 0; k < shape.ways; ++k) {
    std::vector<LongRow> support;
    for (const SampleIndex row : episode.support.subspan(k * shape.shots, shape.shots))
      support.push_back(transformed(row));
    prototypes.push_back(mean(support));
  }
  const auto* geometry = member.geometry.as<Surrogate>();
  std::vector<LongRow> surrogate_rows;
  if (geometry != nullptr)
    surrogate_rows = surrogates(prototypes, class_means(store.at("base"), member), geometry->R);

  std::vector<double> terms;
  for (const SampleIndex row : episode.query) {
    const LongRow query = transformed(row);
    const LongRow values = geometry == nullptr
                               ? distances(query, prototypes)
                               : combined(query, prototypes, surrogate_rows, *geometry);
    for (const long double value : values)
      terms.push_back(static_cast<double>(std::pow(value, static_cast<long double>(alpha))));
  }
  return terms;
}

std::uint32_t plain_correct_queries(const std::vector<double>& distances,
                                    const EpisodeShape& shape) {
  std::uint32_t correct = 0;
  for (std::size_t q = 0; q < shape.total_queries(); ++q) {
    const auto of_query = std::span(distances).subspan(q * shape.ways, shape.ways);
    const auto winner = std::ranges::min_element(of_query) - of_query.begin();
    if (static_cast<std::size_t>(winner) == q / shape.queries) ++correct;
  }
  return correct;
}

}  // namespace deepvoro::test
