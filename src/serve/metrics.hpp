#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "http.hpp"

namespace deepvoro::serve {

// What operators want to know, as Prometheus reads it. Safe to share between threads.
class Metrics {
 public:
  void count(const Response& response, double seconds);

  struct Gauge {
    const char* name;
    const char* help;
    double value;
  };
  [[nodiscard]] std::string text(const std::vector<Gauge>& gauges) const;

 private:
  static constexpr std::array<double, 9> kBounds{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5};

  struct Latency {
    std::array<std::uint64_t, kBounds.size()> at_most{};
    std::uint64_t count = 0;
    double seconds = 0;
  };

  mutable std::mutex guard_;
  std::map<std::pair<std::string, unsigned>, std::uint64_t> requests_;  // by route and status
  std::map<std::string, Latency> latencies_;                            // by route
};

}  // namespace deepvoro::serve
