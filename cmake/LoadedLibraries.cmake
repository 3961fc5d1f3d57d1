# Libraries that are loaded when a file needs them (core/loaded_library.hpp) instead of with the program: HDF5 brings
# some forty others along, libheif four codecs.
set(loaded_libraries "")
# Puts into `out` what the loader knows a library, a file or a target, by.
function(load_when_needed library out)
  if(TARGET ${library})
    get_target_property(library ${library} LOCATION)
  endif()
  execute_process(COMMAND ${CMAKE_READELF} --dynamic ${library} OUTPUT_VARIABLE entries)
  if(NOT entries MATCHES "\\(SONAME\\)[^\n]*\\[([^]\n]+)\\]")
    message(FATAL_ERROR "${library}: is not a shared library")
  endif()
  set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
  get_filename_component(file ${library} REALPATH)
  set(loaded_libraries ${loaded_libraries} ${file} PARENT_SCOPE)
  # One that is not where the loader looks is found from the build folder.
  get_filename_component(folder ${file} DIRECTORY)
  if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    set(CMAKE_BUILD_RPATH ${CMAKE_BUILD_RPATH} ${folder} PARENT_SCOPE)
  endif()
endfunction()

# The others are those that it needs itself.
list(FILTER HDF5_C_LIBRARIES INCLUDE REGEX "hdf5[^/]*$")
list(GET HDF5_C_LIBRARIES 0 hdf5_file)
# A compiler of another processor is told the name alone.
if(NOT IS_ABSOLUTE ${hdf5_file})
  find_library(DEEPVORO_HDF5_FILE NAMES ${hdf5_file} PATH_SUFFIXES hdf5/serial REQUIRED)
  set(hdf5_file ${DEEPVORO_HDF5_FILE})
endif()
load_when_needed(${hdf5_file} hdf5_library)
if(TARGET PkgConfig::HEIF)
  list(GET HEIF_LINK_LIBRARIES 0 heif_file)
  load_when_needed(${heif_file} heif_library)
endif()
