#pragma once

#include <functional>
#include <span>

namespace deepvoro {

// Receives the influence F of one episode, [queries x ways], episodes in ascending order.
using ScoreSink = std::function<void(std::span<const double> scores)>;

}  // namespace deepvoro
