# Options every target of this project is compiled with.
add_library(deepvoro_options INTERFACE)
target_compile_options(deepvoro_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Wno-missing-field-initializers  # designated initializers leave the rest at their defaults on purpose
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 sees overlapping copies in string concatenation where there are none
  # Results must not depend on where the compiler finds a multiplication next to an addition.
  -ffp-contract=off)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# Leaves visible, of a shared library, what a linker script lists.
function(show_only library script)
  target_link_options(${library} PRIVATE LINKER:--version-script=${script})
  set_target_properties(${library} PROPERTIES LINK_DEPENDS ${script})
endfunction()
if(DEEPVORO_WERROR)
  target_compile_options(deepvoro_options INTERFACE -Werror)
endif()
