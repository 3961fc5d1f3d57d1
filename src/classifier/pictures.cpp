#include "deepvoro/classifier/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "deepvoro/backbone/embedder.hpp"
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

std::vector<View> parsed(const std::vector<std::string>& names) {
  std::vector<View> views;
  for (const std::string& text : names) views.push_back(view_named(text));
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

struct SeenPicture {
  std::vector<Image> views;
  std::string reason;  // why it could not be read; empty if it could
};

SeenPicture seen(const NamedPicture& picture, const Embedder& embedder, bool skip_bad) {
  try {
    return {embedder.seen(picture.read()), {}};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    if (!skip_bad) throw with_advice(error);
    return {{}, error.what()};
  }
}

// A network for each thread.
class Networks {
 public:
  Networks(const OpenedBackbone& backbone, const std::vector<View>& views, unsigned threads)
      : backbone_(backbone), networks_(threads), embedders_(threads) {
    embedders_.front().emplace(*backbone.network, views);
  }

  // Of a thread, which alone asks for it.
  [[nodiscard]] Embedder& operator[](unsigned worker) {
    std::optional<Embedder>& embedder = embedders_[worker];
    if (!embedder) {
      networks_[worker] = backbone_library().open(backbone_.file, {.device = backbone_.device});
      embedder.emplace(*networks_[worker], embedders_.front()->views());
    }
    return *embedder;
  }

 private:
  const OpenedBackbone& backbone_;
  std::vector<std::unique_ptr<Backbone>> networks_;  // of all threads but the first
  std::vector<std::optional<Embedder>> embedders_;
};

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
  const unsigned threads = std::clamp(request.threads, 1U, kMostNetworks);
  Networks networks(backbone, parsed(request.views), threads);
  if (!request.skip_bad) check_kinds(pictures);
  std::vector<std::vector<std::uint16_t>> features(pictures.size());  // [views x dim] of each
  std::vector<std::string> reasons(pictures.size());
  std::atomic<std::size_t> done = 0;
  std::atomic<std::size_t> coloured = 0;
  parallel_for(threads, pictures.size(), 1, [&](std::size_t i, std::size_t, unsigned worker) {
    Embedder& embedder = networks[worker];
    SeenPicture picture = seen(pictures[i], embedder, request.skip_bad);
    reasons[i] = picture.reason;
    if (picture.reason.empty()) {
      coloured += is_coloured(picture.views.front()) ? 1U : 0U;
      features[i] = embedder.embed(std::move(picture.views), pictures[i].where);
    }
    const std::size_t count = ++done;
    if (progress && worker == 0)
      progress(static_cast<double>(count) / static_cast<double>(pictures.size()));
  });

  const std::size_t dim = backbone.network->dim();
  PictureFeatures result{
      .pictures = {}, .views = {}, .skipped = {}, .coloured = coloured, .dim = dim};
  result.views.resize(request.views.size());
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    if (!reasons[i].empty()) {
      result.skipped.push_back(reasons[i]);
      continue;
    }
    result.pictures.push_back(i);
    for (std::size_t v = 0; v < result.views.size(); ++v)
      for (std::size_t c = 0; c < dim; ++c)
        result.views[v].push_back(half_to_float(features[i][v * dim + c]));
  }
  return result;
}

}  // namespace deepvoro
