#include "hdf5_file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "hdf5_reader.hpp"

namespace deepvoro {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

// Reading needs the contents twice, unpacked, and the library some more.
ChildLimits limits_for(std::uint64_t file_bytes) {
  constexpr std::uint64_t most_times_unpacked = 1100;
  constexpr std::uint64_t always = 512 * kMiB;
  constexpr std::uint64_t seconds = 60;
  constexpr std::uint64_t slowest_bytes_per_second = 2 * kMiB;
  return {.memory_bytes = always + 2 * most_times_unpacked * file_bytes,
          .cpu_seconds = seconds + file_bytes / slowest_bytes_per_second};
}

// What comes before the elements of an array, all in the byte order of this machine.
struct ArrayHeader {
  NumberType type = NumberType::float32;
  std::uint64_t dimensions = 0;
};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

Hdf5File::Hdf5File(std::filesystem::path file)
    : file_(std::move(file)), limits_(limits_for(MappedFile(file_).bytes().size())) {}

ChildAnswer Hdf5File::ask(const Question& question) const {
  return run_in_child(
      limits_, [&](const ByteSink& answer) { question(Hdf5Reader(file_), answer); },
      fmt::format("{}: ends the HDF5 library; the file is damaged, write it again",
                  file_.string()));
}

bool Hdf5File::has(const std::string& name) const {
  const ChildAnswer answer = ask([&](const Hdf5Reader& reader, const ByteSink& out) {
    if (reader.has(name)) out(bytes_of('y'));
  });
  return !answer.bytes.empty();
}

std::vector<std::string> Hdf5File::names() const {
  const ChildAnswer answer = ask([](const Hdf5Reader& reader, const ByteSink& out) {
    for (const std::string& name : reader.names())
      out(std::as_bytes(std::span(name.c_str(), name.size() + 1)));
  });
  std::vector<std::string> names;
  const auto* text = reinterpret_cast<const char*>(answer.bytes.data());
  for (std::size_t at = 0; at < answer.bytes.size(); at += names.back().size() + 1)
    names.emplace_back(text + at);
  return names;
}

LoadedArray Hdf5File::load(const std::string& name) const {
  ChildAnswer answer = ask([&](const Hdf5Reader& reader, const ByteSink& out) {
    const LoadedArray loaded = reader.load(name);
    const ArrayHeader header{loaded.array.type, loaded.array.shape.size()};
    out(bytes_of(header));
    out(std::as_bytes(std::span(loaded.array.shape)));
    out(loaded.array.data);
  });
  ArrayHeader header;
  std::memcpy(&header, answer.bytes.data(), sizeof header);
  std::span<const std::byte> rest = answer.bytes.subspan(sizeof header);
  std::vector<std::uint64_t> shape(header.dimensions);
  std::memcpy(shape.data(), rest.data(), shape.size() * sizeof shape[0]);
  rest = rest.subspan(shape.size() * sizeof shape[0]);
  return {
      std::move(answer.memory),
      {.type = header.type, .order = std::endian::native, .shape = std::move(shape), .data = rest}};
}

}  // namespace deepvoro
