# Style sheets and the script of a report, put into a source file, so that the program carries them inside.
set(assets ${PROJECT_SOURCE_DIR}/src/report/assets)
file(READ ${assets}/figure.css figure_css)
file(READ ${assets}/dark.css dark_css)
file(READ ${assets}/report.css report_css)
file(READ ${assets}/report.js report_js)
configure_file(${PROJECT_SOURCE_DIR}/cmake/report_assets.cpp.in ${PROJECT_BINARY_DIR}/report_assets.cpp @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${assets}/figure.css ${assets}/dark.css ${assets}/report.css ${assets}/report.js)
