#pragma once

#include "ensemble/engine.hpp"

namespace deepvoro {

// A device that adds members up in the place of the CPU.
class EnsembleDevice {
 public:
  EnsembleDevice() = default;
  EnsembleDevice(const EnsembleDevice&) = delete;
  EnsembleDevice& operator=(const EnsembleDevice&) = delete;
  virtual ~EnsembleDevice() = default;

  // As the function of the engine, whose sums these are to 1e-5 of them.
  virtual void add_members(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
                           InfluenceField& field, const Progress& progress) = 0;
};

}  // namespace deepvoro
