#include "deepvoro/classifier/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <utility>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/image/view.hpp"
#include "features/formats/half.hpp"
#include "image/datasets/picture_source.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

// More would need too much memory.
constexpr unsigned kMostNetworks = 16;

// Views that a network sees at the same size, and so can be fed together.
using ViewsBySize = std::map<std::size_t, std::vector<std::size_t>>;

struct SeenPicture {
  std::vector<Image> views;
  std::string reason;  // why it could not be read; empty if it could
};

std::vector<View> parsed(const std::vector<std::string>& names, const Backbone& backbone) {
  if (names.empty()) throw usage_error("pictures need at least one view to be seen in");
  std::vector<View> views;
  for (const std::string& text : names) {
    views.push_back(view_named(text));
    if (seen_size(views.back()) < backbone.smallest_input())
      throw usage_error(fmt::format("view {} is too small for this network, which needs {} pixels",
                                    text, backbone.smallest_input()));
  }
  return views;
}

Error with_advice(const Error& error) {
  return data_error(fmt::format("{}; --skip-bad leaves such pictures out", error.what()));
}

// Before hours of work that such a file would end.
void check_kinds(std::span<const NamedPicture> pictures) {
  try {
    for (const NamedPicture& picture : pictures)
      if (!picture.file.empty()) check_begins_like_a_picture(picture.file);
  } catch (const Error& error) {
    throw with_advice(error);
  }
}

SeenPicture seen(const NamedPicture& picture, const std::vector<View>& views, bool skip_bad) {
  SeenPicture result;
  try {
    const Image image = picture.read();
    for (const View& view : views) result.views.push_back(apply(view, image));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    if (!skip_bad) throw with_advice(error);
    result.reason = error.what();
  }
  return result;
}

// [views x dim]. Views of one size are fed together.
std::vector<float> embedded(std::vector<Image> views, const ViewsBySize& sizes, Backbone& network) {
  const std::size_t dim = network.dim();
  std::vector<float> features(views.size() * dim);
  for (const auto& [size, members] : sizes) {
    std::vector<Image> batch;
    for (const std::size_t v : members) batch.push_back(std::move(views[v]));
    std::vector<float> rows(batch.size() * dim);
    network.embed(batch, rows);
    for (std::size_t i = 0; i < members.size(); ++i)
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i * dim), dim,
                  features.begin() + static_cast<std::ptrdiff_t>(members[i] * dim));
  }
  return features;
}

float rounded_to_half(float value, const NamedPicture& picture) {
  if (!(std::abs(value) <= kLargestHalf))
    throw data_error(
        fmt::format("{}: the network gives {}, which float16 cannot hold", picture.where, value));
  return half_to_float(float_to_half(value));
}

}  // namespace

std::vector<NamedPicture> pictures_at(const fs::path& path) {
  std::vector<NamedPicture> pictures;
  const auto add = [&](const fs::path& file, const std::string& name) {
    pictures.push_back({name, file.string(), [file] { return read_image(file); }, file});
  };
  std::error_code unreadable;
  if (!fs::exists(path, unreadable))
    throw data_error(fmt::format("{}: there is no such file or folder", path.string()));
  if (!fs::is_directory(path, unreadable)) {
    add(path, path.filename().string());
    return pictures;
  }
  try {
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (has_picture_name(entry.path()) && !entry.is_directory())
        add(entry.path(), entry.path().lexically_relative(path).generic_string());
  } catch (const fs::filesystem_error& error) {
    throw data_error(
        fmt::format("{}: cannot be read: {}", error.path1().string(), error.code().message()));
  }
  if (pictures.empty())
    throw data_error(fmt::format(
        "{}: holds no pictures, files that end in .jpg, .jpeg or .png, not even in its folders",
        path.string()));
  std::ranges::sort(pictures, {}, &NamedPicture::name);
  return pictures;
}

std::vector<NamedPicture> pictures_of(const ImageDataset& dataset) {
  std::vector<NamedPicture> pictures;
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    const std::string where = dataset.name(i);
    const std::string folder = dataset.classes()[dataset.label(i)] + "/";
    pictures.push_back({where.starts_with(folder) ? where.substr(folder.size()) : where, where,
                        [dataset, i] { return dataset.read(i); }});
  }
  return pictures;
}

std::vector<MatrixView<const float>> PictureFeatures::rows() const {
  std::vector<MatrixView<const float>> all;
  for (const std::vector<float>& view : views) all.emplace_back(view.data(), pictures.size(), dim);
  return all;
}

PictureFeatures features_of(std::span<const NamedPicture> pictures, const PictureRequest& request,
                            const OpenedBackbone& backbone, const Progress& progress) {
  const std::vector<View> views = parsed(request.views, *backbone.network);
  if (!request.skip_bad) check_kinds(pictures);
  ViewsBySize sizes;
  for (std::size_t v = 0; v < views.size(); ++v) sizes[seen_size(views[v])].push_back(v);
  const std::size_t dim = backbone.network->dim();
  const unsigned threads = std::min(request.threads, kMostNetworks);
  std::vector<std::unique_ptr<Backbone>> networks(threads);   // of all threads but this one
  std::vector<std::vector<float>> features(pictures.size());  // [views x dim] of each
  std::vector<std::string> reasons(pictures.size());
  std::atomic<std::size_t> done = 0;
  std::atomic<std::size_t> coloured = 0;
  parallel_for(threads, pictures.size(), 1, [&](std::size_t i, std::size_t, unsigned worker) {
    if (worker > 0 && !networks[worker])
      networks[worker] = backbone_library().open(backbone.file, {.device = backbone.device});
    Backbone& network = worker > 0 ? *networks[worker] : *backbone.network;
    SeenPicture picture = seen(pictures[i], views, request.skip_bad);
    reasons[i] = picture.reason;
    if (picture.reason.empty()) {
      coloured += is_coloured(picture.views.front()) ? 1U : 0U;
      features[i] = embedded(std::move(picture.views), sizes, network);
      for (float& value : features[i]) value = rounded_to_half(value, pictures[i]);
    }
    const std::size_t count = ++done;
    if (progress && worker == 0)
      progress(static_cast<double>(count) / static_cast<double>(pictures.size()));
  });

  PictureFeatures result{
      .pictures = {}, .views = {}, .skipped = {}, .coloured = coloured, .dim = dim};
  result.views.resize(views.size());
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    if (!reasons[i].empty()) {
      result.skipped.push_back(reasons[i]);
      continue;
    }
    result.pictures.push_back(i);
    for (std::size_t v = 0; v < views.size(); ++v) {
      const auto begin = features[i].begin() + static_cast<std::ptrdiff_t>(v * dim);
      result.views[v].insert(result.views[v].end(), begin,
                             begin + static_cast<std::ptrdiff_t>(dim));
    }
  }
  return result;
}

}  // namespace deepvoro
