#pragma once

#include <functional>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/export.hpp"
#include "deepvoro/shard/piece_dealer.hpp"

namespace deepvoro {

// Ends a process whose work another process of the same job could not do. That one says why.
class DEEPVORO_API StoppedByAnother : public Error {
 public:
  StoppedByAnother() : Error(ErrorKind::data, "another process of this job failed") {}
};

// Does some work together with the other processes that mpirun started, which must all call this,
// once. `work` gives the dealer to evaluate_share(), tune_share(), extract_share() or
// study_share(). Where several fail, the first one throws its error here, the others
// StoppedByAnother. A data error where this was built without MPI.
DEEPVORO_API void work_in_crew(const std::function<void(PieceDealer&)>& work);

}  // namespace deepvoro
