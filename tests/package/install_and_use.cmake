# Installs the build into a new prefix, moves that elsewhere (a package must not know where it was
# built or first installed), and lets a project that knows only the prefix use it.
function(run_or_fail doing)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${doing} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(first_prefix ${WORK_DIR}/first)
set(prefix ${WORK_DIR}/moved)
file(REMOVE_RECURSE ${WORK_DIR})
run_or_fail("installing" ${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${first_prefix})
file(RENAME ${first_prefix} ${prefix})

run_or_fail("configuring the consumer"
  ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK_DIR}/build -G ${GENERATOR}
  -D CMAKE_CXX_COMPILER=${COMPILER} -D EXAMPLES=${EXAMPLES} -D CMAKE_PREFIX_PATH=${prefix} -D EXPECTED_PREFIX=${prefix}
  -D EXPECTED_VERSION=${VERSION} -D CMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run_or_fail("building the consumer" ${CMAKE_COMMAND} --build ${WORK_DIR}/build --config ${CONFIG})
run_or_fail("running the consumer" ${WORK_DIR}/build/consumer)
if(NOT output STREQUAL "cell 1 of deepvoro ${VERSION}\n")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()
run_or_fail("running the example" ${CMAKE_COMMAND} -E chdir ${WORK_DIR} ${WORK_DIR}/build/example)
if(NOT output STREQUAL "owl probably\njay probably\n")
  message(FATAL_ERROR "the example printed: ${output}")
endif()
run_or_fail("running the installed program" ${prefix}/bin/deepvoro --help)
foreach(ending .safetensors .about.json)
  if(NOT EXISTS ${prefix}/share/deepvoro/backbones/quickdraw-conv4${ending})
    message(FATAL_ERROR "quickdraw-conv4${ending} of the built-in network is not installed")
  endif()
endforeach()
