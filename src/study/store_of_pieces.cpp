#include "study/store_of_pieces.hpp"

#include <fmt/format.h>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

FeatureStore store_of_pieces(const std::filesystem::path& store, const std::string& piece) {
  try {
    return FeatureStore(store);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::missing_file) throw;
    throw data_error(fmt::format("{}: is not a feature store here, but {} was made from it; merge "
                                 "in the folder the shards ran in, or put the store there",
                                 store.string(), piece),
                     ErrorCode::missing_file);
  }
}

}  // namespace deepvoro
