#include "metrics.hpp"

#include <fmt/format.h>

namespace deepvoro::serve {

void Metrics::count(const Response& response, double seconds) {
  const std::string& route = response.route.empty() ? "none" : response.route;
  const std::scoped_lock lock(guard_);
  ++requests_[{route, response.status}];
  Latency& latency = latencies_[route];
  ++latency.count;
  latency.seconds += seconds;
  for (std::size_t i = 0; i < kBounds.size(); ++i)
    if (seconds <= kBounds[i]) ++latency.at_most[i];
}

std::string Metrics::text(const std::vector<Gauge>& gauges) const {
  std::string out;
  for (const auto& [name, help, value] : gauges)
    out += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{0} {2}\n", name, help, value);
  const std::scoped_lock lock(guard_);
  out +=
      "# HELP deepvoro_requests_total Requests by route and status.\n"
      "# TYPE deepvoro_requests_total counter\n";
  for (const auto& [key, count] : requests_)
    out += fmt::format("deepvoro_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first,
                       key.second, count);
  out +=
      "# HELP deepvoro_request_seconds From the header of a request to its answer.\n"
      "# TYPE deepvoro_request_seconds histogram\n";
  for (const auto& [route, latency] : latencies_) {
    for (std::size_t i = 0; i < kBounds.size(); ++i)
      out += fmt::format("deepvoro_request_seconds_bucket{{route=\"{}\",le=\"{}\"}} {}\n", route,
                         kBounds[i], latency.at_most[i]);
    out += fmt::format(
        "deepvoro_request_seconds_bucket{{route=\"{0}\",le=\"+Inf\"}} {1}\n"
        "deepvoro_request_seconds_sum{{route=\"{0}\"}} {2}\n"
        "deepvoro_request_seconds_count{{route=\"{0}\"}} {1}\n",
        route, latency.count, latency.seconds);
  }
  return out;
}

}  // namespace deepvoro::serve
