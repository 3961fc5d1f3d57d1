# Writes OUT, a source file that holds every file below FOLDER; without FOLDER, none.
set(type_of_html "text/html; charset=utf-8")
set(type_of_js "text/javascript; charset=utf-8")
set(type_of_css "text/css; charset=utf-8")
set(type_of_svg "image/svg+xml")
set(files "")
if(FOLDER)
  file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
endif()
set(rows "")
foreach(file IN LISTS files)
  string(REGEX REPLACE "^.*\\." "" kind ${file})
  if(NOT DEFINED type_of_${kind})
    message(FATAL_ERROR "${file}: of what type?")
  endif()
  file(READ ${FOLDER}/${file} bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  file(SIZE ${FOLDER}/${file} size)
  string(APPEND rows "    {\"/${file}\", \"${type_of_${kind}}\", {\"${bytes}\", ${size}}},\n")
endforeach()
list(LENGTH files count)
file(WRITE ${OUT} "#include \"serve/page_assets.hpp\"\n
#include <array>\n
namespace deepvoro::serve {\n
std::span<const PageAsset> page_assets() {
  static const std::array<PageAsset, ${count}> assets{{
${rows}  }};
  return assets;
}\n
}  // namespace deepvoro::serve\n")
