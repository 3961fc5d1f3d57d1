# The page of `serve`, bundled by esbuild and carried inside the program: deepvoro_page, objects that implement serve/page_assets.hpp.
set(DEEPVORO_PAGE AUTO CACHE STRING "build the page of serve, which needs esbuild: AUTO (where it is found), ON or OFF")
set_property(CACHE DEEPVORO_PAGE PROPERTY STRINGS AUTO ON OFF)
if(DEEPVORO_PAGE STREQUAL "ON")
  find_program(ESBUILD esbuild REQUIRED)
elseif(DEEPVORO_PAGE STREQUAL "AUTO")
  find_program(ESBUILD esbuild)
elseif(NOT DEEPVORO_PAGE STREQUAL "OFF")
  message(FATAL_ERROR "DEEPVORO_PAGE is AUTO, ON or OFF, not ${DEEPVORO_PAGE}")
endif()

set(page_assets ${PROJECT_BINARY_DIR}/page_assets.cpp)
set(embed_page ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake)
if(ESBUILD AND NOT DEEPVORO_PAGE STREQUAL "OFF")
  set(page_folder ${PROJECT_BINARY_DIR}/page)
  file(GLOB_RECURSE page_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/page/*)
  add_custom_command(OUTPUT ${page_assets} DEPENDS ${page_sources} ${embed_page}
                     COMMAND ${PROJECT_SOURCE_DIR}/page/build.sh ${ESBUILD} ${page_folder}
                     COMMAND ${CMAKE_COMMAND} -D FOLDER=${page_folder} -D OUT=${page_assets} -P ${embed_page}
                     COMMENT "Bundling the page of serve" VERBATIM)
else()
  message(STATUS "without the page of serve: apt-get install esbuild")
  set(page_folder "")
  add_custom_command(OUTPUT ${page_assets} DEPENDS ${embed_page}
                     COMMAND ${CMAKE_COMMAND} -D OUT=${page_assets} -P ${embed_page} VERBATIM)
endif()

add_library(deepvoro_page OBJECT ${page_assets})
set_target_properties(deepvoro_page PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(deepvoro_page PRIVATE ${PROJECT_SOURCE_DIR}/src)
