#include "npy_file.hpp"

#include <fmt/format.h>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "features/npy.hpp"

namespace deepvoro {

NumberArray npy_array(std::span<const std::byte> bytes, const std::string& where) {
  NpyHeader header = parse_npy_header(bytes, where);
  const auto type = numpy_number_type(std::string_view(header.descr).substr(1));
  if (!type)
    throw data_error(fmt::format(
        "{}: holds elements of type '{}'; floats or integers were expected", where, header.descr));
  return {.type = *type,
          .order = header.descr.front() == '>' ? std::endian::big : std::endian::little,
          .fortran_order = header.fortran_order,
          .shape = std::move(header.shape),
          .data = bytes.subspan(header.data_offset)};
}

LoadedArray load_npy(const std::filesystem::path& file) {
  const auto mapped = std::make_shared<const MappedFile>(file);
  return {mapped, npy_array(mapped->bytes(), file.string())};
}

}  // namespace deepvoro
