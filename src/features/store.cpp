#include "deepvoro/features/store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "features/npy.hpp"
#include "features/row_reader.hpp"
#include "features/store_files.hpp"
#include "formats/half.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestDim = std::size_t{1} << 24U;

// A key of store.json, with an error that names the file and the key when it does not fit.
template <class T>
T required(const json& object, const char* key, const std::string& where) {
  try {
    return object.at(key).get<T>();
  } catch (const json::exception&) {
    throw data_error(fmt::format("{}: \"{}\" is missing or of the wrong type", where, key));
  }
}

void refuse_duplicates(const std::vector<std::string>& names, const char* what,
                       const std::string& where) {
  std::set<std::string_view> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second)
      throw data_error(fmt::format("{}: the {} \"{}\" is listed twice", where, what, name));
}

std::size_t parse_dim(const json& dim, const std::string& where) {
  if (!dim.is_number_unsigned() || dim == 0 || dim > kLargestDim)
    throw data_error(fmt::format("{} must be a whole number from 1 to {}", where, kLargestDim));
  return dim.get<std::size_t>();
}

// Of a view, as store.json lists it.
bool is_name_in_store(std::string_view view, bool has_networks) {
  const std::string_view network = network_of(view);
  if (!has_networks) return is_view_name(view);
  return is_view_name(network) && is_view_name(view.substr(network.size() + 1));
}

std::size_t parse_samples(const json& object, const char* key, const std::string& where) {
  const json samples = object.value(key, json());
  if (!samples.is_number_unsigned())
    throw data_error(fmt::format("{}: \"{}\" must be a whole number, 0 or more", where, key));
  return samples.get<std::size_t>();
}

FeatureStore::Split parse_split(const json& object, const std::string& where) {
  if (!object.is_object())
    throw data_error(fmt::format("{}: must be an object with \"samples\" and \"classes\"", where));
  FeatureStore::Split split{parse_samples(object, "samples", where),
                            required<std::vector<std::string>>(object, "classes", where)};
  refuse_duplicates(split.classes, "class", where);
  return split;
}

std::vector<FeatureStore::Part> parse_parts(
    const json& list, const std::map<std::string, FeatureStore::Split>& splits,
    const std::string& where) {
  if (!list.is_array())
    throw data_error(fmt::format("{}: \"parts\" must be a list of stores", where));
  std::vector<FeatureStore::Part> parts;
  std::map<std::string, std::size_t> left;
  for (const auto& [name, split] : splits) left[name] = split.samples;
  for (const json& entry : list) {
    FeatureStore::Part part{required<std::string>(entry, "store", where), {}};
    const json rows = entry.value("rows", json());
    for (const auto& [split, count] : rows.items()) {
      const std::size_t samples =
          parse_samples(rows, split.c_str(), fmt::format("{}: part {}", where, parts.size()));
      if (!left.contains(split) || samples > left[split])
        throw data_error(
            fmt::format("{}: parts have more rows of \"{}\" than the store", where, split));
      left[split] -= samples;
      part.rows[split] = samples;
    }
    parts.push_back(std::move(part));
  }
  for (const auto& [split, missing] : left)
    if (missing > 0)
      throw data_error(
          fmt::format("{}: parts have {} rows of \"{}\" too few", where, missing, split));
  return parts;
}

// Parts may be moved or deleted by people who do not know that another store needs them.
void check_is_there(const std::filesystem::path& folder, const FeatureStore::Part& part) {
  std::error_code unreadable;  // which is told when a file of it is read
  if (!std::filesystem::exists(folder / part.store, unreadable) && !unreadable)
    throw data_error(fmt::format("{}: its part {} is not there; put it back, or join again",
                                 folder.string(), part.store.string()),
                     ErrorCode::missing_file);
}

// Of what a store tells of itself, and of those that it was joined from.
bool says_fast_decode(const json& provenance) {
  if (!provenance.is_object()) return false;
  const json preprocessing = provenance.value("preprocessing", json());
  if (preprocessing.is_object() && preprocessing.contains(kFastDecodeSide)) return true;
  return std::ranges::any_of(std::array{"parts", "networks"}, [&](const char* key) {
    const json inner = provenance.value(key, json());
    return inner.is_structured() && std::any_of(inner.begin(), inner.end(), says_fast_decode);
  });
}

}  // namespace

bool is_view_name(std::string_view name) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 200 && name.front() != '.' && name != "labels" &&
         name != kMeanView && std::ranges::all_of(name, allowed);
}

std::string_view network_of(std::string_view view) {
  const std::size_t slash = view.find('/');
  return slash == std::string_view::npos ? std::string_view() : view.substr(0, slash);
}

std::string view_of(std::string_view network, std::string_view view) {
  return network.empty() ? std::string(view) : fmt::format("{}/{}", network, view);
}

bool is_mean_view(std::string_view view) {
  return view == view_of(network_of(view), kMeanView);
}

bool is_split_name(std::string_view name) {
  return name == "base" || name == "val" || name == "novel";
}

FeatureRows::FeatureRows(std::vector<float> values, std::size_t samples, std::size_t dim)
    : rows_(samples), dim_(dim) {
  auto kept = std::make_shared<const std::vector<float>>(std::move(values));
  data_ = reinterpret_cast<const std::byte*>(kept->data());
  memory_ = std::move(kept);
}

FeatureRows::FeatureRows(const std::filesystem::path& file, std::size_t samples, std::size_t dim)
    : rows_(samples), dim_(dim) {
  auto mapped = std::make_shared<const MappedFile>(file);
  const NpyHeader header = parse_npy_header(mapped->bytes(), file.string());
  if (header.descr == "<f2")
    element_ = ElementType::float16;
  else if (header.descr == "<f4")
    element_ = ElementType::float32;
  else
    throw data_error(
        fmt::format("{}: has elements of type '{}'; a view holds '<f2' (float16) or "
                    "'<f4' (float32), convert it with numpy's astype",
                    file.string(), header.descr));
  if (header.fortran_order)
    throw data_error(
        fmt::format("{}: is in Fortran order; save numpy.ascontiguousarray of it", file.string()));
  if (header.shape.size() != 2 || header.shape[0] != samples || header.shape[1] != dim)
    throw data_error(
        fmt::format("{}: has shape ({}), but store.json says {} samples of {} "
                    "dimensions",
                    file.string(), fmt::join(header.shape, ", "), samples, dim));
  if (header.data_offset % element_size(element_) != 0)
    throw data_error(
        fmt::format("{}: its data begins at odd byte {}; write it again with numpy.save",
                    file.string(), header.data_offset));
  data_ = mapped->bytes().data() + header.data_offset;
  memory_ = std::move(mapped);
}

FeatureRows::FeatureRows(std::vector<FeatureRows> parts)
    : parts_(std::move(parts)),
      element_(parts_.at(0).element_),
      rows_(0),
      dim_(parts_.front().dim_) {
  for (const FeatureRows& part : parts_) ends_.push_back(rows_ += part.rows_);
}

const std::byte* FeatureRows::row_of_parts(std::size_t r) const {
  const auto part = static_cast<std::size_t>(std::ranges::upper_bound(ends_, r) - ends_.begin());
  return parts_[part].row(r - (part == 0 ? 0 : ends_[part - 1]));
}

void FeatureRows::copy_row(std::size_t r, std::span<float> out) const {
  if (element_ == ElementType::float32) {
    std::memcpy(out.data(), row(r), dim_ * sizeof(float));
    return;
  }
  for (std::size_t c = 0; c < dim_; ++c) {
    std::uint16_t half = 0;
    std::memcpy(&half, row(r) + c * sizeof half, sizeof half);
    out[c] = half_to_float(half);
  }
}

FeatureStore::FeatureStore(std::filesystem::path folder) : folder_(std::move(folder)) {
  const std::filesystem::path file = folder_ / "store.json";
  const std::string where = file.string();
  std::error_code unreadable;
  if (std::filesystem::is_regular_file(folder_, unreadable))
    throw data_error(
        fmt::format("{}: is a file, not a feature store (a folder); make one of features with "
                    "'deepvoro store create', or of pictures with 'deepvoro extract'",
                    folder_.string()));
  if (!std::filesystem::exists(file, unreadable))
    throw data_error(fmt::format("{}: does not exist, so {} is not a feature store; make one of "
                                 "features with 'deepvoro store create', or of pictures with "
                                 "'deepvoro extract'",
                                 where, folder_.string()),
                     ErrorCode::missing_file);
  const json document = read_json(file);
  if (!document.is_object() || document.value("format", json()) != "deepvoro-store")
    throw data_error(fmt::format("{}: \"format\" must be \"deepvoro-store\"", where));
  if (document.value("version", json()) != 1)
    throw data_error(
        fmt::format("{}: \"version\" must be 1, the only one this program reads", where));

  views_ = required<std::vector<std::string>>(document, "views", where);
  if (views_.empty()) throw data_error(fmt::format("{}: \"views\" names no view", where));
  const json dim = document.value("dim", json());
  const bool has_networks = dim.is_object();
  for (const std::string& view : views_) {
    if (!is_name_in_store(view, has_networks))
      throw data_error(
          fmt::format("{}: \"{}\" cannot be the name of a view; use letters, digits, '_', '-' and "
                      "'.', as in {}, but not \"labels\" or \"mean\"",
                      where, view, has_networks ? "wrn/s84_r0_f0" : "s84_r0_f0"));
    const std::string network(network_of(view));
    if (std::ranges::find(networks_, network) != networks_.end()) continue;
    networks_.push_back(network);
    dims_.push_back(has_networks ? parse_dim(dim.value(network, json()),
                                             fmt::format("{}: \"dim\" of \"{}\"", where, network))
                                 : parse_dim(dim, fmt::format("{}: \"dim\"", where)));
  }
  if (has_networks && dim.size() != networks_.size())
    throw data_error(fmt::format("{}: \"dim\" names {} networks, but \"views\" has views of {}",
                                 where, dim.size(), networks_.size()));
  refuse_duplicates(views_, "view", where);

  const json splits = document.value("splits", json());
  if (!splits.is_object() || splits.empty())
    throw data_error(
        fmt::format("{}: \"splits\" must name at least one of base, val, novel", where));
  for (const auto& [name, split] : splits.items()) {
    if (!is_split_name(name))
      throw data_error(
          fmt::format("{}: \"{}\" is not a split; use base, val or novel", where, name));
    splits_[name] = parse_split(split, fmt::format("{}: split {}", where, name));
  }
  if (document.contains("parts")) parts_ = parse_parts(document["parts"], splits_, where);
  provenance_json_ = document.value("provenance", json::object()).dump();
}

bool FeatureStore::has_view(std::string_view name) const {
  if (is_mean_view(name)) return std::ranges::find(networks_, network_of(name)) != networks_.end();
  return std::ranges::find(views_, name) != views_.end();
}

std::size_t FeatureStore::dim(std::string_view view) const {
  if (!has_view(view))
    throw data_error(fmt::format("{}: has no view '{}'; it has {} views, {} to {}",
                                 folder_.string(), view, views_.size(), views_.front(),
                                 views_.back()));
  const auto network = std::ranges::find(networks_, network_of(view));
  return dims_[static_cast<std::size_t>(network - networks_.begin())];
}

std::vector<std::string> FeatureStore::views_of(std::string_view network) const {
  std::vector<std::string> views;
  std::ranges::copy_if(views_, std::back_inserter(views),
                       [&](const std::string& view) { return network_of(view) == network; });
  return views;
}

const FeatureStore::Split& FeatureStore::split(const std::string& name) const {
  const auto found = splits_.find(name);
  if (found != splits_.end()) return found->second;
  std::vector<std::string> present;
  for (const auto& entry : splits_) present.push_back(entry.first);
  throw data_error(fmt::format("{}: has no split '{}', only {}", folder_.string(), name,
                               fmt::join(present, ", ")));
}

std::filesystem::path FeatureStore::labels_file(const std::string& split) const {
  return folder_ / split / "labels.npy";
}

std::vector<std::filesystem::path> FeatureStore::view_files(const std::string& split,
                                                            const std::string& view) const {
  const std::string name = split + "/" + view + ".npy";
  if (parts_.empty()) return {folder_ / name};
  std::vector<std::filesystem::path> files;
  for (const Part& part : parts_)
    if (part.rows.contains(split)) files.push_back(folder_ / part.store / name);
  return files;
}

std::string FeatureStore::view_place(const std::string& split, const std::string& view) const {
  const std::vector<std::filesystem::path> files = view_files(split, view);
  if (files.size() == 1) return files.front().string();
  return fmt::format("{}: split {}, view {}", folder_.string(), split, view);
}

std::string FeatureStore::usual_split() const {
  return splits_.size() == 1 ? splits_.begin()->first : "novel";
}

std::string FeatureStore::model_sha256() const {
  const json provenance = parse_json(provenance_json_);
  const json model = provenance.is_object() ? provenance.value("model", json()) : json();
  return model.is_string() ? model.get<std::string>() : std::string();
}

bool FeatureStore::fast_decode() const {
  return says_fast_decode(parse_json(provenance_json_));
}

std::vector<std::size_t> FeatureStore::labels(const std::string& split) const {
  const Split& expected = this->split(split);
  const MappedFile file(labels_file(split));
  const std::string where = file.path().string();
  const NpyHeader header = parse_npy_header(file.bytes(), where);
  if (header.descr != "<i8")
    throw data_error(fmt::format("{}: has elements of type '{}'; labels are '<i8' (int64)", where,
                                 header.descr));
  if (header.shape.size() != 1 || header.shape[0] != expected.samples)
    throw data_error(fmt::format("{}: has shape ({}), but store.json says {} samples", where,
                                 fmt::join(header.shape, ", "), expected.samples));
  std::vector<std::size_t> labels(expected.samples);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    std::int64_t label = 0;
    std::memcpy(&label, file.bytes().data() + header.data_offset + row * sizeof label,
                sizeof label);
    if (label < 0 || static_cast<std::uint64_t>(label) >= expected.classes.size())
      throw data_error(fmt::format(
          "{}: row {} has label {}, but the split has {} classes (0 to {})", where, row, label,
          expected.classes.size(), static_cast<std::int64_t>(expected.classes.size()) - 1));
    labels[row] = static_cast<std::size_t>(label);
  }
  return labels;
}

std::vector<std::vector<std::size_t>> FeatureStore::rows_by_class(const std::string& split) const {
  const std::vector<std::size_t> of_rows = labels(split);
  std::vector<std::vector<std::size_t>> rows(this->split(split).classes.size());
  for (std::size_t row = 0; row < of_rows.size(); ++row) rows[of_rows[row]].push_back(row);
  return rows;
}

FeatureRows FeatureStore::features(const std::string& split, const std::string& view) const {
  const std::size_t samples = this->split(split).samples;
  const std::size_t dim = this->dim(view);
  if (is_mean_view(view)) return mean_features(split, view);
  const std::vector<std::filesystem::path> files = view_files(split, view);
  if (parts_.empty()) return {files.front(), samples, dim};
  std::vector<FeatureRows> rows;
  for (const Part& part : parts_)
    if (const auto count = part.rows.find(split); count != part.rows.end()) {
      check_is_there(folder_, part);
      rows.emplace_back(files[rows.size()], count->second, dim);
      if (rows.back().element() != rows.front().element())
        throw data_error(
            fmt::format("{} and {}: one is float16 and the other float32; make both of one type",
                        files.front().string(), files[rows.size() - 1].string()));
    }
  return rows.size() == 1 ? rows.front() : FeatureRows(std::move(rows));
}

FeatureRows FeatureStore::mean_features(const std::string& split, const std::string& view) const {
  const std::size_t samples = this->split(split).samples;
  RowReader reader(*this, split, view);
  const std::size_t dim = reader.dim();
  std::vector<float> means(samples * dim);
  for (std::size_t row = 0; row < samples; ++row)
    std::memcpy(means.data() + row * dim, reader.row(row), dim * sizeof(float));
  return {std::move(means), samples, dim};
}

void FeatureStore::refuse_output_inside(const std::string& flag,
                                        const std::filesystem::path& file) const {
  std::error_code is_no_plain_file;  // such as a pipe
  const std::filesystem::path store = std::filesystem::weakly_canonical(folder_);
  const std::filesystem::path target = std::filesystem::weakly_canonical(file, is_no_plain_file);
  if (!is_no_plain_file && std::ranges::mismatch(store, target).in1 == store.end())
    throw usage_error(
        fmt::format("{} {}: lies inside the store {}, which is only read; write it elsewhere", flag,
                    file.string(), folder_.string()));
}

// As store.json and whoever looks from inside the folder call it.
std::string FeatureStore::name_in_store(const std::filesystem::path& file) const {
  const std::string path = file.string();
  const std::string inside = (folder_ / "").string();
  return path.starts_with(inside) ? path.substr(inside.size()) : path;
}

void FeatureStore::check_parts_are_there() const {
  for (const Part& part : parts_) check_is_there(folder_, part);
}

std::string FeatureStore::sha256(unsigned threads) const {
  check_parts_are_there();
  std::vector<std::string> files{"store.json"};
  for (const auto& [split, unused] : splits_) {
    files.push_back(split + "/labels.npy");
    for (const std::string& view : views_)
      for (const std::filesystem::path& file : view_files(split, view))
        files.push_back(name_in_store(file));
  }
  std::ranges::sort(files);
  std::vector<std::string> lines(files.size());
  parallel_for(threads, files.size(), 1, [&](std::size_t begin, std::size_t end, unsigned) {
    for (std::size_t i = begin; i < end; ++i)
      lines[i] = sha256_line(MappedFile(folder_ / files[i]).bytes(), files[i]);
  });
  return sha256_hex(fmt::format("{}", fmt::join(lines, "")));
}

}  // namespace deepvoro
