#include "tfjs_package.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "package.hpp"

namespace deepvoro {
namespace {

std::vector<float> read_weights(const TfjsModel& model, Package& package) {
  std::size_t bytes = 0;
  for (const std::string& name : model.files()) bytes += package.file(name).size();
  if (bytes != model.size() * sizeof(float))
    model.fail(
        fmt::format("describes weights of {} bytes, but its {} files have {}; one is truncated or "
                    "of another package, so get it again",
                    model.size() * sizeof(float), model.files().size(), bytes));
  std::vector<float> weights(model.size());
  auto out = std::as_writable_bytes(std::span(weights)).begin();
  for (const std::string& name : model.files())
    out = std::ranges::copy(package.file(name), out).out;
  return weights;
}

}  // namespace

TfjsPackage read_tfjs_package(const std::filesystem::path& from, const std::string& folder) {
  constexpr const char* model_file = "model.json";
  Package package(from, folder);
  const auto bytes = package.file(model_file);
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TfjsModel model(text, package.where(model_file));
  std::vector<float> weights = read_weights(model, package);
  return {package.where(model_file), std::move(text), std::move(model), std::move(weights)};
}

}  // namespace deepvoro
