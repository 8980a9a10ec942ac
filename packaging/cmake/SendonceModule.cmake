# sendonce_module(NAME sendonce_module MAP exports.map SOURCES ... DEPS ...): the installed library
# libsendonce.so.0, which exports what the version script names and nothing else.
function(sendonce_module)
  cmake_parse_arguments(A "" "NAME;MAP" "SOURCES;DEPS" ${ARGN})
  set(map ${CMAKE_CURRENT_SOURCE_DIR}/${A_MAP})
  add_library(${A_NAME} SHARED ${A_SOURCES})
  set_target_properties(${A_NAME} PROPERTIES
    OUTPUT_NAME sendonce EXPORT_NAME sendonce VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${map})
  target_include_directories(${A_NAME}
    PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/plugin/include
    INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/plugin/include>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${A_NAME} PRIVATE ${A_DEPS} sendonce_flags)
  # Hidden visibility alone leaks symbols of libstdc++ templates and of static libraries; the
  # libraries behind us leave threads and TLS destructors, so that unloading is not possible.
  target_link_options(${A_NAME} PRIVATE
    -Wl,--version-script=${map} -Wl,--exclude-libs,ALL -Wl,-z,nodelete)
  if(NOT SENDONCE_SANITIZE)  # the sanitizers' runtime is resolved from the executable
    target_link_options(${A_NAME} PRIVATE -Wl,-z,defs)
  endif()
endfunction()

# sendonce_export_test(target symbol...): a test that the built library exports exactly these.
function(sendonce_export_test target)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME exports_${target}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/abi/exports.py
      $<TARGET_FILE:${target}> ${ARGN})
  set_tests_properties(exports_${target} PROPERTIES TIMEOUT 60 LABELS abi)
endfunction()
