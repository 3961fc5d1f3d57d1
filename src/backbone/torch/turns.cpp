#include "turns.hpp"

#include <vector>

#include "device.hpp"

namespace deepvoro {

using torch::Tensor;

Turned turned_at_random(const Tensor& pictures, const Tensor& labels) {
  const Tensor turns =
      sent(torch::randint(kTurns, {pictures.size(0)}, torch::kInt64), pictures.device());
  // To select pictures by their turn would mean to wait for the device.
  Tensor turned = pictures;
  for (std::int64_t turn = 1; turn < kTurns; ++turn)
    turned =
        torch::where((turns == turn).view({-1, 1, 1, 1}), pictures.rot90(turn, {2, 3}), turned);
  return {turned, labels, turns};
}

Turned turned_in_all_ways(const Tensor& pictures, const Tensor& labels) {
  const std::int64_t count = pictures.size(0);
  const std::int64_t quarter = (count + kTurns - 1) / kTurns;
  const Tensor first = pictures.narrow(0, 0, quarter);
  std::vector<Tensor> turned;
  for (std::int64_t turn = 0; turn < kTurns; ++turn) turned.push_back(first.rot90(turn, {2, 3}));
  const Tensor turns = torch::arange(kTurns, labels.options()).repeat_interleave(quarter);
  return {torch::cat(turned).narrow(0, 0, count),
          labels.narrow(0, 0, quarter).repeat({kTurns}).narrow(0, 0, count),
          turns.narrow(0, 0, count)};
}

}  // namespace deepvoro
