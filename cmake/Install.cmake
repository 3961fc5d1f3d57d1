# Exported package: find_package(deepvoro) gives the target deepvoro::deepvoro.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/deepvoro)
install(TARGETS deepvoro EXPORT deepvoroTargets)
install(TARGETS deepvoro_program)
if(DEEPVORO_BUILD_BACKBONE)
  install(TARGETS deepvoro_backbone LIBRARY)
endif()
if(DEEPVORO_BUILD_CLUSTER)
  install(TARGETS deepvoro_cluster LIBRARY)
endif()
install(DIRECTORY include/deepvoro TYPE INCLUDE)
install(DIRECTORY data/backbones DESTINATION ${CMAKE_INSTALL_DATADIR}/deepvoro
        FILES_MATCHING PATTERN "*.safetensors" PATTERN "*.about.json" PATTERN "*.statistics")
install(EXPORT deepvoroTargets NAMESPACE deepvoro:: DESTINATION ${package_dir})
configure_package_config_file(cmake/deepvoroConfig.cmake.in ${PROJECT_BINARY_DIR}/deepvoroConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/deepvoroConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/deepvoroConfig.cmake
              ${PROJECT_BINARY_DIR}/deepvoroConfigVersion.cmake
        DESTINATION ${package_dir})
