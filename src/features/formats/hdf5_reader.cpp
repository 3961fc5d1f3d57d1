#include "hdf5_reader.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <array>
#include <limits>
#include <utility>

#include "core/files.hpp"
#include "core/loaded_library.hpp"
#include "core/trusted_files.hpp"
#include "deepvoro/core/error.hpp"
#include "feature_table.hpp"

// The constants of HDF5 are macros with C casts in them.
#pragma GCC diagnostic ignored "-Wold-style-cast"
// Some would also start the library by calling a function of it.
#undef H5CHECK
#undef H5OPEN
#define H5CHECK
#define H5OPEN

namespace deepvoro {

namespace {

class Hdf5Library : LoadedLibrary {
 public:
  Hdf5Library() : LoadedLibrary(DEEPVORO_HDF5_LIBRARY, "HDF5 files", ErrorCode::none) {}

  DEEPVORO_LOADED_FUNCTION(H5Dclose);
  DEEPVORO_LOADED_FUNCTION(H5Dget_create_plist);
  DEEPVORO_LOADED_FUNCTION(H5Dget_space);
  DEEPVORO_LOADED_FUNCTION(H5Dget_type);
  DEEPVORO_LOADED_FUNCTION(H5Dopen2);
  DEEPVORO_LOADED_FUNCTION(H5Dread);
  DEEPVORO_LOADED_FUNCTION(H5Eset_auto2);
  DEEPVORO_LOADED_FUNCTION(H5Fclose);
  DEEPVORO_LOADED_FUNCTION(H5Fopen);
  DEEPVORO_LOADED_FUNCTION(H5Gget_info);
  DEEPVORO_LOADED_FUNCTION(H5Lget_info);
  DEEPVORO_LOADED_FUNCTION(H5Lget_name_by_idx);
  DEEPVORO_LOADED_FUNCTION(H5open);
  DEEPVORO_LOADED_FUNCTION(H5Pclose);
  DEEPVORO_LOADED_FUNCTION(H5Pget_chunk);
  DEEPVORO_LOADED_FUNCTION(H5Pget_external_count);
  DEEPVORO_LOADED_FUNCTION(H5Pget_layout);
  DEEPVORO_LOADED_FUNCTION(H5PLset_loading_state);
  DEEPVORO_LOADED_FUNCTION(H5Sclose);
  DEEPVORO_LOADED_FUNCTION(H5Screate_simple);
  DEEPVORO_LOADED_FUNCTION(H5Sget_simple_extent_dims);
  DEEPVORO_LOADED_FUNCTION(H5Sget_simple_extent_ndims);
  DEEPVORO_LOADED_FUNCTION(H5Sget_simple_extent_type);
  DEEPVORO_LOADED_FUNCTION(H5Sselect_hyperslab);
  DEEPVORO_LOADED_FUNCTION(H5Tclose);
  DEEPVORO_LOADED_FUNCTION(H5Tcopy);
  DEEPVORO_LOADED_FUNCTION(H5Tget_class);
  DEEPVORO_LOADED_FUNCTION(H5Tget_ebias);
  DEEPVORO_LOADED_FUNCTION(H5Tget_fields);
  DEEPVORO_LOADED_FUNCTION(H5Tget_order);
  DEEPVORO_LOADED_FUNCTION(H5Tget_sign);
  DEEPVORO_LOADED_FUNCTION(H5Tget_size);
  DEEPVORO_LOADED_FUNCTION(H5Tset_order);
  DEEPVORO_LOADED_VARIABLE(H5T_NATIVE_DOUBLE_g);
  DEEPVORO_LOADED_VARIABLE(H5T_NATIVE_FLOAT_g);
  DEEPVORO_LOADED_VARIABLE(H5T_NATIVE_INT64_g);
  DEEPVORO_LOADED_VARIABLE(H5T_NATIVE_UINT64_g);
};

const Hdf5Library& hdf5() {
  static const Hdf5Library library;
  return library;
}

}  // namespace

void Hdf5Reader::load_library() {
  (void)hdf5();
}

class Hdf5Reader::Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  [[nodiscard]] hid_t id() const { return id_; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  Close close_;
};

namespace {

// HDF5 prints its errors unless told otherwise, and would load code that a file asks for.
void start_hdf5_quiet_and_closed() {
  hdf5().H5open();
  hdf5().H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  hdf5().H5PLset_loading_state(0);
}

Error damaged(const std::string& where) {
  return data_error(fmt::format("{}: cannot be read; the file is damaged, write it again", where));
}

bool is_ieee_half(hid_t type) {
  std::size_t sign = 0;
  std::size_t exponent = 0;
  std::size_t exponent_bits = 0;
  std::size_t fraction = 0;
  std::size_t fraction_bits = 0;
  return hdf5().H5Tget_size(type) == 2 &&
         hdf5().H5Tget_fields(type, &sign, &exponent, &exponent_bits, &fraction, &fraction_bits) >=
             0 &&
         sign == 15 && exponent == 10 && exponent_bits == 5 && fraction == 0 &&
         fraction_bits == 10 && hdf5().H5Tget_ebias(type) == 15;
}

// Links on the way to a dataset must stay within the file: one file must not pull in another.
bool is_path_of_hard_links(hid_t file, const std::string& name) {
  for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
    const std::string part = name.substr(0, end);
    H5L_info_t link{};
    if (hdf5().H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT) < 0 ||
        link.type != H5L_TYPE_HARD)
      return false;
    if (end == std::string::npos) return true;
  }
}

std::uint64_t product(const std::vector<std::uint64_t>& shape, std::size_t item_size) {
  return array_bytes(shape, item_size).value_or(std::numeric_limits<std::uint64_t>::max());
}

std::vector<std::uint64_t> dataset_shape(hid_t space, const std::string& where) {
  const int rank = hdf5().H5Sget_simple_extent_ndims(space);
  if (rank < 0 || hdf5().H5Sget_simple_extent_type(space) == H5S_NULL) throw damaged(where);
  std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
  if (hdf5().H5Sget_simple_extent_dims(space, sizes.data(), nullptr) < 0) throw damaged(where);
  return {sizes.begin(), sizes.end()};
}

struct Layout {
  bool within_file = false;
  std::vector<std::uint64_t> chunk;  // empty when not chunked
};

Layout dataset_layout(hid_t plan) {
  const H5D_layout_t layout = hdf5().H5Pget_layout(plan);
  Layout found{.within_file =
                   layout >= 0 && layout != H5D_VIRTUAL && hdf5().H5Pget_external_count(plan) == 0,
               .chunk = {}};
  if (layout == H5D_CHUNKED) {
    std::array<hsize_t, H5S_MAX_RANK> sizes{};
    const int rank = hdf5().H5Pget_chunk(plan, H5S_MAX_RANK, sizes.data());
    found.within_file = found.within_file && rank > 0;
    found.chunk.assign(sizes.begin(), sizes.begin() + std::max(rank, 0));
  }
  return found;
}

}  // namespace

struct Hdf5Reader::MemoryType {
  NumberType number;
  Handle id;
};

Hdf5Reader::Hdf5Reader(const std::filesystem::path& file)
    : where_(file.string()), file_bytes_(MappedFile(file).bytes().size()) {
  start_hdf5_quiet_and_closed();
  file_ = std::make_unique<Handle>(hdf5().H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
                                   hdf5().H5Fclose);
  if (!file_->valid()) throw data_error(fmt::format("{}: is not a readable HDF5 file", where_));
  valid_rows_ = read_count();
}

Hdf5Reader::~Hdf5Reader() = default;

bool Hdf5Reader::has(const std::string& name) const {
  return !name.empty() && is_path_of_hard_links(file_->id(), name);
}

std::vector<std::string> Hdf5Reader::names() const {
  std::vector<std::string> names;
  H5G_info_t group{};
  if (hdf5().H5Gget_info(file_->id(), &group) < 0) throw damaged(where_);
  constexpr hsize_t enough_for_a_message = 20;
  for (hsize_t i = 0; i < std::min(group.nlinks, enough_for_a_message); ++i) {
    std::array<char, 256> name{};
    if (hdf5().H5Lget_name_by_idx(file_->id(), ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(),
                                  name.size(), H5P_DEFAULT) < 0)
      throw damaged(where_);
    names.emplace_back(name.data());
  }
  return names;
}

Hdf5Reader::MemoryType Hdf5Reader::memory_type(const Handle& dataset, const std::string& where) {
  const Handle stored(hdf5().H5Dget_type(dataset.id()), hdf5().H5Tclose);
  constexpr std::size_t largest_number = 16;  // HDF5 would make room for elements of any size
  if (!stored.valid() || hdf5().H5Tget_size(stored.id()) > largest_number)
    throw data_error(fmt::format("{}: holds no numbers of a usual size", where));
  const auto converted = [](NumberType number, hid_t id) {
    return MemoryType{number, Handle(hdf5().H5Tcopy(id), hdf5().H5Tclose)};
  };
  switch (hdf5().H5Tget_class(stored.id())) {
    case H5T_INTEGER:
      return hdf5().H5Tget_sign(stored.id()) == H5T_SGN_NONE
                 ? converted(NumberType::uint64, hdf5().H5T_NATIVE_UINT64_g)
                 : converted(NumberType::int64, hdf5().H5T_NATIVE_INT64_g);
    case H5T_FLOAT: {
      if (hdf5().H5Tget_size(stored.id()) > 4)
        return converted(NumberType::float64, hdf5().H5T_NATIVE_DOUBLE_g);
      if (!is_ieee_half(stored.id()))
        return converted(NumberType::float32, hdf5().H5T_NATIVE_FLOAT_g);
      MemoryType half = converted(NumberType::float16, stored.id());
      hdf5().H5Tset_order(half.id.id(), hdf5().H5Tget_order(hdf5().H5T_NATIVE_FLOAT_g));
      return half;
    }
    default:
      throw data_error(fmt::format("{}: holds neither floats nor integers", where));
  }
}

void Hdf5Reader::check_size(const Handle& dataset, const std::vector<std::uint64_t>& wanted,
                            std::size_t item_size, const std::string& where) const {
  const Handle plan(hdf5().H5Dget_create_plist(dataset.id()), hdf5().H5Pclose);
  if (!plan.valid()) throw damaged(where);
  const Layout layout = dataset_layout(plan.id());
  if (!layout.within_file)
    throw data_error(fmt::format("{}: keeps its data outside this file; refused", where));
  const std::uint64_t chunk = layout.chunk.empty() ? 0 : product(layout.chunk, item_size);
  const std::uint64_t largest = std::max(chunk, product(wanted, item_size));
  if (!plausible_unpacked_size(largest, file_bytes_))
    throw data_error(fmt::format("{}: claims {} bytes in a file of {}; refused as damaged", where,
                                 largest, file_bytes_));
  if (!TrustInAllFiles::is_given() && !is_usual_unpacked_size(largest, file_bytes_))
    throw data_error(
        fmt::format("{}: a file of {} bytes would unpack into {}, which is much for "
                    "features; {}",
                    where, file_bytes_, largest, kHowToTrust));
}

LoadedArray Hdf5Reader::load(const std::string& name) const {
  const std::string where = fmt::format("{}: '{}'", where_, name);
  const Handle dataset(hdf5().H5Dopen2(file_->id(), name.c_str(), H5P_DEFAULT), hdf5().H5Dclose);
  if (!dataset.valid()) throw data_error(fmt::format("{}: is not a readable dataset", where));
  const MemoryType type = memory_type(dataset, where);
  const Handle space(hdf5().H5Dget_space(dataset.id()), hdf5().H5Sclose);
  if (!space.valid() || !type.id.valid()) throw damaged(where);

  std::vector<std::uint64_t> shape = dataset_shape(space.id(), where);
  if (valid_rows_ && !shape.empty()) {
    if (*valid_rows_ > shape[0])
      throw data_error(fmt::format("{}: has {} rows, but 'count' says that {} are valid", where,
                                   shape[0], *valid_rows_));
    shape[0] = *valid_rows_;
  }
  const std::size_t item = number_size(type.number);
  check_size(dataset, shape, item, where);
  const std::uint64_t bytes = product(shape, item);
  const std::shared_ptr<std::byte[]> memory(new std::byte[bytes]);

  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  const std::vector<hsize_t> origin(shape.size(), 0);
  const auto rank = static_cast<int>(extent.size());
  const Handle target(hdf5().H5Screate_simple(rank, extent.data(), nullptr), hdf5().H5Sclose);
  if (!target.valid()) throw damaged(where);
  const bool selected =
      rank == 0 || hdf5().H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, origin.data(), nullptr,
                                              extent.data(), nullptr) >= 0;
  if (!selected || hdf5().H5Dread(dataset.id(), type.id.id(), target.id(), space.id(), H5P_DEFAULT,
                                  memory.get()) < 0)
    throw damaged(where);
  return {memory,
          {.type = type.number,
           .order = std::endian::native,
           .shape = std::move(shape),
           .data = {memory.get(), bytes}}};
}

std::optional<std::uint64_t> Hdf5Reader::read_count() const {
  constexpr const char* name = "count";
  if (!has(name)) return std::nullopt;
  LoadedArray count = load(name);
  if (array_bytes(count.array.shape, 1) != 1) return std::nullopt;
  count.array.shape = {1};
  const std::int64_t rows = label_values(count.array, fmt::format("{}: '{}'", where_, name))[0];
  if (rows < 0) throw damaged(fmt::format("{}: '{}'", where_, name));
  return static_cast<std::uint64_t>(rows);
}

}  // namespace deepvoro
