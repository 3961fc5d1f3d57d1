# Compiles SOURCE twice: as it stands it must compile, which shows that nothing else is wrong with
# it; with DEEPVORO_MUST_NOT_COMPILE defined it must not, for the reason its first line gives.
string(REGEX REPLACE "([^,]+),?" "-I\\1;" includes ${INCLUDE_DIRS})
set(command ${COMPILER} -std=c++20 -fsyntax-only ${includes})

execute_process(COMMAND ${command} ${SOURCE} RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "does not compile even without the line that must not:\n${errors}")
endif()

file(STRINGS ${SOURCE} reason LIMIT_COUNT 1 REGEX "^// expected: ")
string(REPLACE "// expected: " "" reason "${reason}")
if(reason STREQUAL "")
  message(FATAL_ERROR "${SOURCE} must begin with '// expected: REGEX'")
endif()
execute_process(COMMAND ${command} -DDEEPVORO_MUST_NOT_COMPILE ${SOURCE}
                RESULT_VARIABLE status ERROR_VARIABLE errors)
if(status EQUAL 0)
  message(FATAL_ERROR "compiles, but must not")
endif()
if(NOT errors MATCHES "${reason}")
  message(FATAL_ERROR "fails to compile, but not because of '${reason}':\n${errors}")
endif()
