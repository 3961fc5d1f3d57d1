#include "text_array.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "features/npy.hpp"
#include "number_array.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kUnicodeBytes = 4;

char32_t unicode_at(std::span<const std::byte> bytes, bool is_big_endian) {
  char32_t point = 0;
  for (std::size_t i = 0; i < kUnicodeBytes; ++i)
    point = point << 8U | std::to_integer<char32_t>(bytes[is_big_endian ? i : 3 - i]);
  return point;
}

void append_utf8(char32_t point, std::string& text) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80U | (point >> shift & 0x3FU));
  };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0U | point >> 6U);
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0U | point >> 12U);
    tail(6);
    tail(0);
  } else {  // what is no character at all is found when the text is checked
    text += static_cast<char>(0xF0U | (point >> 18U & 0x7U));
    tail(12);
    tail(6);
    tail(0);
  }
}

// NumPy fills up with zeros.
std::string text_in(std::span<const std::byte> element, char kind, bool is_big_endian) {
  std::string text;
  for (std::size_t at = 0; at < element.size(); at += kind == 'U' ? kUnicodeBytes : 1)
    if (kind == 'U')
      append_utf8(unicode_at(element.subspan(at, kUnicodeBytes), is_big_endian), text);
    else
      text += static_cast<char>(element[at]);
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace

std::optional<std::vector<std::string>> npy_texts(std::span<const std::byte> bytes,
                                                  const std::string& where) {
  const NpyHeader header = parse_npy_header(bytes, where);
  const char kind = header.descr[1];
  if (kind != 'U' && kind != 'S') return std::nullopt;
  if (header.shape.size() != 1)
    throw data_error(fmt::format("{}: has shape {}; labels are a vector, one for each sample",
                                 where, shape_text(header.shape)));
  const std::size_t size = npy_item_size(header.descr);
  std::vector<std::string> texts;
  for (std::size_t row = 0; row < header.shape.front(); ++row) {
    texts.push_back(text_in(bytes.subspan(header.data_offset + row * size, size), kind,
                            header.descr.front() == '>'));
    if (!is_text_line(texts.back()))
      throw data_error(
          fmt::format("{}: row {} is not the name of a class: it is empty or not text on one line",
                      where, row));
  }
  return texts;
}

}  // namespace deepvoro
