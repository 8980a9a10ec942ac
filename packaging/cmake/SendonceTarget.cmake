# One function per kind of target, so that no subdirectory repeats flags.
add_library(sendonce_flags INTERFACE)
target_compile_options(sendonce_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Wcast-qual -Wformat=2
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor$<SEMICOLON>-Wold-style-cast$<SEMICOLON>-Woverloaded-virtual$<SEMICOLON>-Wextra-semi$<SEMICOLON>-Wswitch-enum>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # gcc 12 sees overlap in "literal" + std::string (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${SENDONCE_WERROR}>:-Werror>
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
if(SENDONCE_HARDEN)
  target_compile_options(sendonce_flags INTERFACE
    -fstack-protector-strong -fstack-clash-protection
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection>
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=3>)
  target_compile_definitions(sendonce_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(sendonce_flags INTERFACE
    -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--as-needed)
endif()
if(SENDONCE_SANITIZE)
  target_compile_options(sendonce_flags INTERFACE
    -fsanitize=${SENDONCE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(sendonce_flags INTERFACE -fsanitize=${SENDONCE_SANITIZE})
endif()

if(SENDONCE_FUZZ)
  # Without it libFuzzer sees the branches of its own target alone.
  target_compile_options(sendonce_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# sendonce_library(NAME core SOURCES ... DEPS ...): an internal static library sendonce::core.
function(sendonce_library)
  cmake_parse_arguments(A "" "NAME" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  if(A_SOURCES)
    add_library(sendonce_${A_NAME} STATIC ${A_SOURCES})
    target_include_directories(sendonce_${A_NAME} PUBLIC
      ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/plugin/include)
    target_link_libraries(sendonce_${A_NAME} PUBLIC ${A_DEPS} PRIVATE ${A_PRIVATE_DEPS} sendonce_flags)
  else()
    add_library(sendonce_${A_NAME} INTERFACE)
    target_include_directories(sendonce_${A_NAME} INTERFACE
      ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/plugin/include)
    target_link_libraries(sendonce_${A_NAME} INTERFACE ${A_DEPS})
  endif()
  add_library(sendonce::${A_NAME} ALIAS sendonce_${A_NAME})
endfunction()

# sendonce_crash_points(file...): sources of this directory with crash points in them
# (plugin/core/crash_point.hpp).
function(sendonce_crash_points)
  if(SENDONCE_CRASH_POINTS)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_DEFINITIONS SENDONCE_CRASH_POINTS)
  endif()
endfunction()

# sendonce_program(NAME sendonced SOURCES ... DEPS ...): an executable in build/<preset>/bin.
function(sendonce_program)
  cmake_parse_arguments(A "" "NAME" "SOURCES;DEPS" ${ARGN})
  add_executable(${A_NAME} ${A_SOURCES})
  target_include_directories(${A_NAME} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/plugin/include)
  target_link_libraries(${A_NAME} PRIVATE ${A_DEPS} sendonce_flags)
endfunction()

# A test runs under the sanitizers' options, and fails when any process that it started wrote a
# report. Suppressions, where there are any, name third-party code only.
function(sendonce_add_test name)
  if(NOT SENDONCE_SANITIZE)
    add_test(NAME ${name} COMMAND ${ARGN})
    return()
  endif()
  set(sanitized ${PROJECT_SOURCE_DIR}/tests/support/sanitized.sh)
  add_test(NAME ${name} COMMAND ${sanitized} ${CMAKE_BINARY_DIR}/reports/${name} ${ARGN})
endfunction()

# sendonce_test(NAME core SOURCES ... DEPS ... [LABELS ...] [TIMEOUT s] [SHARDS n]): a GoogleTest
# program test_core, run as one ctest test, or as n, core_1 to core_n, that share its cases.
function(sendonce_test)
  cmake_parse_arguments(A "" "NAME;TIMEOUT;SHARDS" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(test_${A_NAME} ${A_SOURCES})
  target_include_directories(test_${A_NAME} PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/plugin/include)
  target_compile_definitions(test_${A_NAME} PRIVATE SENDONCE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(test_${A_NAME} PRIVATE ${A_DEPS} sendonce_test_flags)
  if(SENDONCE_PCH)
    target_precompile_headers(test_${A_NAME} REUSE_FROM sendonce_test_headers)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  if(SENDONCE_SANITIZE)
    math(EXPR A_TIMEOUT "3 * ${A_TIMEOUT}")
  endif()
  if(NOT A_SHARDS)
    sendonce_add_test(${A_NAME} $<TARGET_FILE:test_${A_NAME}>)
    set_tests_properties(${A_NAME} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}")
    return()
  endif()
  foreach(shard RANGE 1 ${A_SHARDS})
    math(EXPR index "${shard} - 1")
    sendonce_add_test(${A_NAME}_${shard} $<TARGET_FILE:test_${A_NAME}>)
    set_tests_properties(${A_NAME}_${shard} PROPERTIES
      TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${A_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
