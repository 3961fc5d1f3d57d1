#include "deepvoro/classifier/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <optional>
#include <utility>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/image/view.hpp"
#include "features/formats/half.hpp"
#include "image/datasets/picture_source.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

// Pictures that are held in memory in all their views.
constexpr std::size_t kBlock = 8;

// Views that a network sees at the same size, and so can be fed together.
using ViewsBySize = std::map<std::size_t, std::vector<std::size_t>>;

struct SeenPicture {
  std::vector<Image> views;
  std::optional<std::string> reason;  // why it could not be read
};

std::vector<View> parsed(const std::vector<std::string>& names, const Backbone& backbone) {
  std::vector<View> views;
  for (const std::string& text : names) {
    views.push_back(view_named(text));
    if (seen_size(views.back()) < backbone.smallest_input())
      throw usage_error(fmt::format("view {} is too small for this network, which needs {} pixels",
                                    text, backbone.smallest_input()));
  }
  return views;
}

SeenPicture seen(const NamedPicture& picture, const std::vector<View>& views, bool skip_bad) {
  SeenPicture result;
  try {
    const Image image = picture.read();
    for (const View& view : views) result.views.push_back(apply(view, image));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    if (!skip_bad)
      throw data_error(fmt::format("{}; --skip-bad leaves such pictures out", error.what()));
    result.reason = error.what();
  }
  return result;
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
    pictures.push_back({name, file.string(), [file] { return read_image(file); }});
  };
  std::error_code unreadable;
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
  if (pictures.empty()) throw data_error(fmt::format("{}: holds no pictures", path.string()));
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
                            Backbone& backbone, const Progress& progress) {
  const std::vector<View> views = parsed(request.views, backbone);
  ViewsBySize sizes;
  for (std::size_t v = 0; v < views.size(); ++v) sizes[seen_size(views[v])].push_back(v);
  const std::size_t dim = backbone.dim();
  PictureFeatures result{.pictures = {}, .views = {}, .skipped = {}, .dim = dim};
  result.views.resize(views.size());

  const auto read_block = [&](std::size_t begin) {
    std::vector<SeenPicture> block(std::min(kBlock, pictures.size() - begin));
    parallel_for(request.threads, block.size(), 1, [&](std::size_t first, std::size_t, unsigned) {
      block[first] = seen(pictures[begin + first], views, request.skip_bad);
    });
    return block;
  };
  const auto embed = [&](SeenPicture& picture, std::size_t index) {
    std::vector<float> features;
    std::vector<Image> batch;
    for (const auto& [size, members] : sizes) {
      batch.clear();
      for (const std::size_t v : members) batch.push_back(std::move(picture.views[v]));
      features.resize(batch.size() * dim);
      backbone.embed(batch, features);
      for (std::size_t i = 0; i < features.size(); ++i)
        result.views[members[i / dim]].push_back(rounded_to_half(features[i], pictures[index]));
    }
    result.pictures.push_back(index);
  };
  // The next block is read while the network sees this one.
  std::future<std::vector<SeenPicture>> next;
  if (!pictures.empty()) next = std::async(std::launch::async, read_block, 0);
  for (std::size_t begin = 0; begin < pictures.size(); begin += kBlock) {
    std::vector<SeenPicture> block = next.get();
    if (begin + kBlock < pictures.size())
      next = std::async(std::launch::async, read_block, begin + kBlock);
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (block[i].reason)
        result.skipped.push_back(*block[i].reason);
      else
        embed(block[i], begin + i);
      if (progress)
        progress(static_cast<double>(begin + i + 1) / static_cast<double>(pictures.size()));
    }
  }
  return result;
}

}  // namespace deepvoro
