# make deb: the program, the library with its headers, the Python package, documents.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(command_line ${PROJECT_BINARY_DIR}/command_line)
  add_custom_command(
    OUTPUT ${command_line}/completion/deepvoro
    DEPENDS deepvoro_program ${PROJECT_SOURCE_DIR}/scripts/command_line_files.py
    COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/scripts/command_line_files.py
            $<TARGET_FILE:deepvoro_program> ${command_line})
  add_custom_target(deepvoro_command_line ALL DEPENDS ${command_line}/completion/deepvoro)
  install(DIRECTORY ${command_line}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${command_line}/completion/deepvoro DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN Doxyfile EXCLUDE)
# Where the examples of help, man pages and documents look for it.
install(DIRECTORY data/quickdraw DESTINATION ${CMAKE_INSTALL_DOCDIR}/data)

if(DEEPVORO_BUILD_PYTHON)
  set(dist_packages lib/python3/dist-packages/deepvoro)
  install(TARGETS deepvoro_python LIBRARY DESTINATION ${dist_packages} COMPONENT debian EXCLUDE_FROM_ALL)
  install(DIRECTORY python/deepvoro/ DESTINATION ${dist_packages} COMPONENT debian EXCLUDE_FROM_ALL
          PATTERN __pycache__ EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/docs/html DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT debian
        EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME deepvoro)
set(CPACK_PACKAGE_CONTACT "the developers of deepvoro <deepvoro@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Classifies pictures after seeing one to five examples of each class. Holds the program deepvoro, the C++ library with its headers, and the package deepvoro for Python 3.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_CMAKE_PROJECTS
    "${PROJECT_BINARY_DIR};deepvoro;Unspecified;/;${PROJECT_BINARY_DIR};deepvoro;debian;/")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
file(WRITE ${PROJECT_BINARY_DIR}/prerm
     "#!/bin/sh\nset -e\nrm -rf /usr/lib/python3/dist-packages/deepvoro/__pycache__  # what Python compiled there\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers ${PROJECT_BINARY_DIR}/prerm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-sklearn, g++, cmake")
# Depends and Recommends are found when the package is made.
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/debian_dependencies.cmake)
set(needed $<TARGET_FILE:deepvoro_program> $<TARGET_FILE:deepvoro>)
if(DEEPVORO_BUILD_PYTHON)
  list(APPEND needed $<TARGET_FILE:deepvoro_python>)
endif()
set(networks)
if(DEEPVORO_BUILD_BACKBONE)
  set(networks $<TARGET_FILE:deepvoro_backbone>)
endif()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/debian_dependencies.cmake CONTENT
"set(needed \"${needed}\")
set(networks \"${networks}\")
set(loaded \"${loaded_libraries}\")
set(library_folder \"$<TARGET_FILE_DIR:deepvoro>\")
set(python \"${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/DebianDependencies.cmake\")
")
include(CPack)
