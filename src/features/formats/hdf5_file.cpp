#include "hdf5_file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
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
struct Hdf5ArrayHeader {
  std::uint64_t type = 0;
  std::uint64_t dimensions = 0;
};

constexpr std::uint64_t kMostDimensions = 32;  // as HDF5 has it

Error unusable_answer(const std::string& where) {
  return data_error(fmt::format("{}: cannot be read; the file is damaged, write it again", where));
}

}  // namespace

Hdf5File::Hdf5File(std::filesystem::path file)
    : file_(std::move(file)), limits_(limits_for(MappedFile(file_).bytes().size())) {}

ChildAnswer Hdf5File::ask(const Question& question) const {
  // Not in the other process: there the loader might wait for a thread that only this one has, and
  // the library would take memory that is meant for the file.
  Hdf5Reader::load_library();
  return run_in_child(
      limits_, [&](const ByteSink& answer) { question(Hdf5Reader(file_), answer); },
      fmt::format("{}: ends the HDF5 library; the file is damaged, write it again",
                  file_.string()));
}

bool Hdf5File::has(const std::string& name) const {
  const ChildAnswer answer = ask([&](const Hdf5Reader& reader, const ByteSink& out) {
    constexpr std::byte yes{1};
    if (reader.has(name)) out({&yes, 1});
  });
  return !answer.bytes.empty();
}

std::vector<std::string> Hdf5File::names() const {
  return names_in(ask([](const Hdf5Reader& reader, const ByteSink& answer) {
                    send_names(reader.names(), answer);
                  }),
                  where());
}

LoadedArray Hdf5File::load(const std::string& name) const {
  return array_in(ask([&](const Hdf5Reader& reader, const ByteSink& answer) {
                    send_array(reader.load(name).array, answer);
                  }),
                  fmt::format("{}: '{}'", where(), name));
}

void send_names(const std::vector<std::string>& names, const ByteSink& answer) {
  for (const std::string& name : names)
    answer(std::as_bytes(std::span(name.c_str(), name.size() + 1)));
}

std::vector<std::string> names_in(const ChildAnswer& answer, const std::string& where) {
  std::string_view rest(reinterpret_cast<const char*>(answer.bytes.data()), answer.bytes.size());
  std::vector<std::string> names;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) throw unusable_answer(where);
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return names;
}

void send_array(const NumberArray& array, const ByteSink& answer) {
  const Hdf5ArrayHeader header{static_cast<std::uint64_t>(array.type), array.shape.size()};
  answer(std::as_bytes(std::span(&header, 1)));
  answer(std::as_bytes(std::span(array.shape)));
  answer(array.data);
}

LoadedArray array_in(ChildAnswer answer, const std::string& where) {
  Hdf5ArrayHeader header;
  std::span<const std::byte> rest = answer.bytes;
  if (rest.size() < sizeof header) throw unusable_answer(where);
  std::memcpy(&header, rest.data(), sizeof header);
  rest = rest.subspan(sizeof header);
  if (header.type > static_cast<std::uint64_t>(NumberType::uint64) ||
      header.dimensions > kMostDimensions ||
      rest.size() < header.dimensions * sizeof(std::uint64_t))
    throw unusable_answer(where);
  const auto type = static_cast<NumberType>(header.type);
  std::vector<std::uint64_t> shape(header.dimensions);
  const std::size_t shape_bytes = std::span(shape).size_bytes();
  if (!shape.empty()) std::memcpy(shape.data(), rest.data(), shape_bytes);
  rest = rest.subspan(shape_bytes);
  if (array_bytes(shape, number_size(type)) != rest.size()) throw unusable_answer(where);
  return {std::move(answer.memory),
          {.type = type, .order = std::endian::native, .shape = std::move(shape), .data = rest}};
}

}  // namespace deepvoro
