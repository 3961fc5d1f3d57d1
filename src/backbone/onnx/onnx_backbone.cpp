#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "api.hpp"
#include "backbone/ready_features.hpp"
#include "deepvoro/backbone/onnx.hpp"
#include "deepvoro/core/error.hpp"
#include "picture/resize.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using onnx::Runtime;

constexpr std::size_t kUsualSize = 224;
constexpr std::size_t kSmallestInput = 32;
constexpr std::array<std::string_view, 5> kUsualOutputs{"image_embeds", "pooler_output", "features",
                                                        "embeddings", "last_hidden_state"};

// A number of the input's shape that is not given is any.
struct InputShape {
  std::int64_t batch = -1;
  std::int64_t side = -1;
  bool channels_last = false;
};

class OnnxBackbone : public Backbone {
 public:
  OnnxBackbone(const fs::path& model, const OnnxOptions& options, const ComputeOptions& compute)
      : where_(model.string()), pixels_(options.pixels) {
    onnx::SessionOptions* made = nullptr;
    check(api().create_session_options(&made));
    const onnx::OwnedOptions session_options(made);
    check(api().set_threads(made, static_cast<int>(std::max(1U, compute.threads))));
    onnx::Session* session = nullptr;
    check(api().create_session(runtime_.env(), model.c_str(), made, &session));
    session_.reset(session);
    read_input();
    choose_output(options.output);
    choose_size(options.input_size);
    // Whether it can be run at all shows here, and how many features it has.
    const Bitmap black{input_size_, input_size_,
                       std::vector<std::uint8_t>(input_size_ * input_size_ * kChannels)};
    dim_ = run({&black, 1}).size();
    if (dim_ == 0) throw data_error(fmt::format("{}: has no features", where_));
  }

  [[nodiscard]] std::size_t dim() const override { return dim_; }
  [[nodiscard]] const PixelScale& pixels() const override { return pixels_; }
  [[nodiscard]] std::size_t input_size() const override { return input_size_; }
  [[nodiscard]] std::size_t smallest_input() const override {
    return input_.side > 0 ? 1 : kSmallestInput;  // what has a fixed size is resized to it
  }

  [[nodiscard]] std::unique_ptr<PendingFeatures> begin(std::span<const Bitmap> pictures) override {
    const std::size_t at_once =
        input_.batch > 0 ? static_cast<std::size_t>(input_.batch) : pictures.size();
    std::vector<float> all;
    for (std::size_t i = 0; i < pictures.size(); i += at_once) {
      const std::vector<float> some =
          run(pictures.subspan(i, std::min(at_once, pictures.size() - i)));
      all.insert(all.end(), some.begin(), some.end());
    }
    return std::make_unique<ReadyFeatures>(std::move(all));
  }

 private:
  [[nodiscard]] const onnx::Api& api() const { return runtime_.api(); }
  void check(onnx::Status* status) const { runtime_.check(status, where_); }

  [[nodiscard]] std::vector<std::int64_t> shape_of(const onnx::TensorInfo* info) const {
    std::size_t rank = 0;
    check(api().rank(info, &rank));
    std::vector<std::int64_t> shape(rank);
    check(api().shape(info, shape.data(), rank));
    return shape;
  }

  [[nodiscard]] std::string taken(char* text) const {
    std::string copy = text;
    check(api().free(runtime_.allocator(), text));
    return copy;
  }

  void read_input() {
    std::size_t count = 0;
    check(api().input_count(session_.get(), &count));
    if (count != 1)
      throw data_error(fmt::format("{}: has {} inputs; export the part that takes pictures alone",
                                   where_, count));
    char* name = nullptr;
    check(api().input_name(session_.get(), 0, runtime_.allocator(), &name));
    input_name_ = taken(name);
    onnx::TypeInfo* type = nullptr;
    check(api().input_type(session_.get(), 0, &type));
    const onnx::OwnedType owned(type);
    const onnx::TensorInfo* info = nullptr;
    check(api().tensor_info_of_type(type, &info));
    int element = 0;
    if (info != nullptr) check(api().element_type(info, &element));
    const std::vector<std::int64_t> shape =
        info == nullptr ? std::vector<std::int64_t>() : shape_of(info);
    const bool is_first = shape.size() == 4 && (shape[1] == 3 || shape[1] <= 0);
    const bool is_last = shape.size() == 4 && shape[3] == 3 && shape[1] != 3;
    if (element != onnx::kFloat32 || !(is_first || is_last))
      throw data_error(fmt::format(
          "{}: input '{}' has shape [{}]; a network for pictures takes float32 [pictures, 3, "
          "height, width]",
          where_, input_name_, fmt::join(shape, ", ")));
    input_ = {shape[0], is_last ? shape[1] : shape[2], is_last};
    const std::int64_t other = is_last ? shape[2] : shape[3];
    if (input_.side > 0 && other > 0 && other != input_.side)
      throw data_error(fmt::format("{}: takes pictures of {} x {} pixels, which are not square",
                                   where_, other, input_.side));
  }

  void choose_output(const std::string& wanted) {
    std::size_t count = 0;
    check(api().output_count(session_.get(), &count));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      check(api().output_name(session_.get(), i, runtime_.allocator(), &name));
      names.push_back(taken(name));
    }
    const auto has = [&](std::string_view name) {
      return std::ranges::find(names, name) != names.end();
    };
    if (!wanted.empty()) {
      if (!has(wanted))
        throw data_error(fmt::format("{}: has no output '{}'; it has {}", where_, wanted,
                                     fmt::join(names, ", ")));
      output_name_ = wanted;
      return;
    }
    const auto usual = std::ranges::find_if(kUsualOutputs, has);
    if (names.size() == 1)
      output_name_ = names.front();
    else if (usual != kUsualOutputs.end())
      output_name_ = *usual;
    else
      throw data_error(fmt::format("{}: has several outputs; choose one of {} with `output`",
                                   where_, fmt::join(names, ", ")));
  }

  void choose_size(const std::optional<std::size_t>& wanted) {
    const bool is_fixed = input_.side > 0;
    if (is_fixed && wanted && *wanted != static_cast<std::size_t>(input_.side))
      throw usage_error(fmt::format("{}: takes pictures of {} pixels, so `size` cannot be {}",
                                    where_, input_.side, *wanted));
    input_size_ = is_fixed ? static_cast<std::size_t>(input_.side) : wanted.value_or(kUsualSize);
    constexpr std::size_t largest = 4096;
    if (input_size_ == 0 || input_size_ > largest)
      throw data_error(fmt::format("{}: takes pictures of {} pixels, more than {}", where_,
                                   input_size_, largest));
  }

  void fill(const Bitmap& picture, std::span<float> to) const {
    const std::size_t count = picture.width * picture.height;
    for (std::size_t c = 0; c < kChannels; ++c)
      for (std::size_t i = 0; i < count; ++i) {
        const float level = static_cast<float>(picture.pixels[i * kChannels + c]) / 255;
        to[input_.channels_last ? i * kChannels + c : c * count + i] =
            (level - pixels_.mean[c]) / pixels_.deviation[c];
      }
  }

  // Features of pictures of one size, [pictures x features]; a network of a fixed number of
  // pictures sees some again.
  [[nodiscard]] std::vector<float> run(std::span<const Bitmap> pictures) const {
    const std::size_t side = input_.side > 0 ? input_size_ : pictures.front().width;
    const std::size_t batch =
        input_.batch > 0 ? static_cast<std::size_t>(input_.batch) : pictures.size();
    const std::size_t each = side * side * kChannels;
    std::vector<float> values(batch * each);
    for (std::size_t i = 0; i < batch; ++i) {
      const Bitmap& picture = pictures[std::min(i, pictures.size() - 1)];
      const std::span<float> to = std::span(values).subspan(i * each, each);
      if (picture.width == side && picture.height == side)
        fill(picture, to);
      else
        fill(resized(picture, side, side), to);
    }
    const auto b = static_cast<std::int64_t>(batch);
    const auto s = static_cast<std::int64_t>(side);
    const std::array<std::int64_t, 4> shape = input_.channels_last
                                                  ? std::array<std::int64_t, 4>{b, s, s, 3}
                                                  : std::array<std::int64_t, 4>{b, 3, s, s};
    onnx::Value* input = nullptr;
    check(api().create_tensor(runtime_.memory(), values.data(), values.size() * sizeof(float),
                              shape.data(), shape.size(), onnx::kFloat32, &input));
    const onnx::OwnedValue owned_input(input);
    const onnx::Value* const inputs[] = {input};
    const char* const input_names[] = {input_name_.c_str()};
    const char* const output_names[] = {output_name_.c_str()};
    onnx::Value* output = nullptr;
    check(api().run(session_.get(), nullptr, input_names, inputs, 1, output_names, 1, &output));
    const onnx::OwnedValue owned_output(output);
    return features_in(output, batch, pictures.size());
  }

  [[nodiscard]] std::vector<float> features_in(onnx::Value* output, std::size_t batch,
                                               std::size_t wanted) const {
    onnx::TensorInfo* info = nullptr;
    check(api().tensor_info_of_value(output, &info));
    const onnx::OwnedTensorInfo owned(info);
    int element = 0;
    check(api().element_type(info, &element));
    const std::vector<std::int64_t> shape = shape_of(info);
    const bool is_known = shape.size() >= 2 && shape.size() <= 4 &&
                          shape[0] == static_cast<std::int64_t>(batch) &&
                          std::ranges::all_of(shape, [](std::int64_t n) { return n > 0; });
    if (element != onnx::kFloat32 || !is_known)
      throw data_error(fmt::format(
          "{}: output '{}' has shape [{}]; features are float32 [pictures, features], [pictures, "
          "tokens, features] or [pictures, features, height, width]",
          where_, output_name_, fmt::join(shape, ", ")));
    void* data = nullptr;
    check(api().tensor_data(output, &data));
    const auto* values = static_cast<const float*>(data);
    const auto second = static_cast<std::size_t>(shape[1]);
    std::vector<float> features;
    for (std::size_t i = 0; i < wanted; ++i) {
      if (shape.size() == 2) {
        features.insert(features.end(), values + i * second, values + (i + 1) * second);
      } else if (shape.size() == 3) {  // the first token stands for the whole picture
        const auto dim = static_cast<std::size_t>(shape[2]);
        const float* token = values + i * second * dim;
        features.insert(features.end(), token, token + dim);
      } else {
        const auto area = static_cast<std::size_t>(shape[2] * shape[3]);
        for (std::size_t c = 0; c < second; ++c) {
          const float* map = values + (i * second + c) * area;
          features.push_back(std::accumulate(map, map + area, 0.0F) / static_cast<float>(area));
        }
      }
    }
    return features;
  }

  const Runtime& runtime_ = Runtime::loaded();
  std::string where_;
  PixelScale pixels_;
  onnx::OwnedSession session_;
  InputShape input_;
  std::string input_name_;
  std::string output_name_;
  std::size_t input_size_ = kUsualSize;
  std::size_t dim_ = 0;
};

}  // namespace

std::unique_ptr<Backbone> open_onnx(const fs::path& model, const OnnxOptions& options,
                                    const ComputeOptions& compute) {
  if (compute.device != "cpu")
    throw usage_error("`device`: networks in ONNX files run on the CPU; use `device` cpu");
  return std::make_unique<OnnxBackbone>(model, options, compute);
}

}  // namespace deepvoro
