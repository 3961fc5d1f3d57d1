#include "mended_hash.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "deepvoro/classifier/backbone_statistics.hpp"

namespace deepvoro::fuzz {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;

std::optional<Bytes> tensor_in(const json& header, const std::string& name, Bytes data) {
  const json entry = header.value(name, json());
  const json offsets = entry.is_object() ? entry.value("data_offsets", json()) : json();
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return std::nullopt;
  const auto begin = offsets[0].get<std::size_t>();
  const auto end = offsets[1].get<std::size_t>();
  if (begin > end || end > data.size()) return std::nullopt;
  return data.subspan(begin, end - begin);
}

std::vector<std::byte> copy_of(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<std::byte> with_right_hash(Bytes file, const HashedTensors& hashed) {
  std::uint64_t length = 0;
  if (file.size() < kLengthBytes) return copy_of(file);
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > file.size() - kLengthBytes) return copy_of(file);
  const Bytes data = file.subspan(kLengthBytes + length);
  json header = parse_json(text_of(file.subspan(kLengthBytes, length)));
  json* metadata =
      header.is_object() && header.contains("__metadata__") ? &header["__metadata__"] : nullptr;
  if (metadata == nullptr || !metadata->is_object()) return copy_of(file);
  const json text = metadata->value("deepvoro", json());
  if (!text.is_string()) return copy_of(file);
  std::string lines = sha256_line(text.get<std::string>(), "deepvoro");
  for (const std::string& name : hashed(parse_json(text.get<std::string>()))) {
    const std::optional<Bytes> tensor = tensor_in(header, name, data);
    if (!tensor) return copy_of(file);
    lines += sha256_line(*tensor, name);
  }
  (*metadata)["sha256"] = sha256_hex(lines);
  const std::string mended = header.dump();
  length = mended.size();
  std::vector<std::byte> out = copy_of(std::as_bytes(std::span(&length, 1)));
  const Bytes mended_bytes = std::as_bytes(std::span(mended));
  out.insert(out.end(), mended_bytes.begin(), mended_bytes.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

std::vector<std::string> statistics_arrays(const json& description) {
  std::vector<std::string> names;
  for (const double exponent : kPointExponents) names.push_back(fmt::format("points-{}", exponent));
  if (description.is_object() && description.contains("plda")) names.emplace_back("plda");
  return names;
}

}  // namespace deepvoro::fuzz
