#include "safetensors_file.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"
#include "half.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;

std::optional<NumberType> safetensors_type(std::string_view name) {
  using Name = std::pair<std::string_view, NumberType>;
  static constexpr std::array<Name, 12> names{{{"F16", NumberType::float16},
                                               {"BF16", NumberType::bfloat16},
                                               {"F32", NumberType::float32},
                                               {"F64", NumberType::float64},
                                               {"I8", NumberType::int8},
                                               {"I16", NumberType::int16},
                                               {"I32", NumberType::int32},
                                               {"I64", NumberType::int64},
                                               {"U8", NumberType::uint8},
                                               {"U16", NumberType::uint16},
                                               {"U32", NumberType::uint32},
                                               {"U64", NumberType::uint64}}};
  for (const auto& [known, type] : names)
    if (known == name) return type;
  return std::nullopt;
}

std::uint64_t head_length(std::span<const std::byte> bytes, const std::string& where) {
  std::uint64_t length = 0;
  if (bytes.size() < kLengthBytes)
    throw data_error(fmt::format("{}: is too short for a .safetensors file", where));
  for (std::size_t i = kLengthBytes; i-- > 0;)
    length = length << 8U | std::to_integer<std::uint64_t>(bytes[i]);
  if (length > bytes.size() - kLengthBytes || length > kLargestHeader)
    throw data_error(
        fmt::format("{}: is not a .safetensors file, or is truncated: it has {} bytes, and its "
                    "header would have {}",
                    where, bytes.size(), length));
  return length;
}

// JSON numbers that are negative, fractional or too large are no sizes.
std::vector<std::uint64_t> sizes(const json& list, const std::string& where) {
  std::vector<std::uint64_t> out;
  if (list.is_array())
    for (const json& size : list)
      if (size.is_number_unsigned()) out.push_back(size.get<std::uint64_t>());
  if (!list.is_array() || out.size() != list.size())
    throw data_error(fmt::format("{}: its shape or data_offsets are not whole numbers", where));
  return out;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file)
    : where_(file.string()), file_(std::make_shared<const MappedFile>(file)) {
  const std::span<const std::byte> bytes = file_->bytes();
  const std::uint64_t length = head_length(bytes, where_);
  data_ = bytes.subspan(kLengthBytes + length);
  const auto* text = reinterpret_cast<const char*>(bytes.data() + kLengthBytes);
  const json header = parse_json({text, length});
  if (!header.is_object())
    throw data_error(
        fmt::format("{}: its header is not a JSON object; write the file again", where_));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      for (const auto& [key, value] : entry.items())
        if (value.is_string()) metadata_[key] = value.get<std::string>();
      continue;
    }
    const std::string where = fmt::format("{}: '{}'", where_, name);
    if (!entry.is_object() || !entry.value("dtype", json()).is_string())
      throw data_error(fmt::format("{}: is not described by dtype, shape and data_offsets", where));
    const auto offsets = sizes(entry.value("data_offsets", json()), where);
    if (offsets.size() != 2)
      throw data_error(fmt::format("{}: data_offsets must be [begin, end]", where));
    tensors_[name] = {entry.at("dtype").get<std::string>(),
                      sizes(entry.value("shape", json()), where), offsets[0], offsets[1]};
  }
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& entry : tensors_) names.push_back(entry.first);
  return names;
}

LoadedArray SafetensorsFile::load(const std::string& name) const {
  const std::string where = fmt::format("{}: '{}'", where_, name);
  const Tensor& tensor = tensors_.at(name);
  const auto type = safetensors_type(tensor.type);
  if (!type)
    throw data_error(
        fmt::format("{}: holds elements of type {}; F16, BF16, F32, F64 or integers "
                    "were expected",
                    where, tensor.type));
  if (tensor.begin > tensor.end || tensor.end > data_.size() ||
      array_bytes(tensor.shape, number_size(*type)) != tensor.end - tensor.begin)
    throw data_error(fmt::format(
        "{}: bytes {} to {} of {} cannot hold shape {} of {}; the file is truncated or damaged",
        where, tensor.begin, tensor.end, data_.size(), shape_text(tensor.shape), tensor.type));
  return {file_,
          {.type = *type,
           .shape = tensor.shape,
           .data = data_.subspan(tensor.begin, tensor.end - tensor.begin)}};
}

namespace {

std::vector<std::uint16_t> rounded_to_halves(const FloatTensor& tensor, const std::string& where) {
  std::vector<std::uint16_t> halves;
  halves.reserve(tensor.values.size());
  for (const float value : tensor.values) {
    if (!(std::abs(value) <= kLargestHalf))
      throw data_error(fmt::format("{}: '{}' holds {}, which float16 cannot hold; use float32",
                                   where, tensor.name, value));
    halves.push_back(float_to_half(value));
  }
  return halves;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file,
                       const std::map<std::string, std::string>& metadata,
                       const std::vector<FloatTensor>& tensors, NumberType type) {
  static_assert(std::endian::native == std::endian::little);
  const bool halves = type == NumberType::float16;
  json header{{"__metadata__", metadata}};
  std::uint64_t offset = 0;
  for (const FloatTensor& tensor : tensors) {
    const std::uint64_t end = offset + tensor.values.size() * (halves ? 2 : 4);
    header[tensor.name] = {{"dtype", halves ? "F16" : "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  while (text.size() % kLengthBytes != 0) text += ' ';  // aligns the data
  const std::uint64_t length = text.size();
  AtomicFile out(file);
  out.write(std::as_bytes(std::span(&length, 1)));
  out.write(text);
  for (const FloatTensor& tensor : tensors) {
    const std::vector<std::uint16_t> rounded =
        halves ? rounded_to_halves(tensor, file.string()) : std::vector<std::uint16_t>();
    out.write(halves ? std::as_bytes(std::span(rounded)) : std::as_bytes(tensor.values));
  }
  out.commit();
}

}  // namespace deepvoro
