# kvpagefs_layer(NAME SOURCES... PUBLIC_LAYERS ... LIBRARIES ...): one folder, one static library.
#
# Arrows point down only; tests/lint proves it on the includes.
add_library(kvpagefs_flags INTERFACE)
target_include_directories(kvpagefs_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(kvpagefs_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Werror
  -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(kvpagefs_flags INTERFACE -Wthread-safety)
endif()
target_link_libraries(kvpagefs_flags INTERFACE Threads::Threads)

# What most sources include, parsed once a target: a third less to compile. Only where a build is thrown away after one
# run of the tests; the others show that every source includes what it uses.
function(kvpagefs_precompile target)
  if(NOT KVPAGEFS_PRECOMPILED_HEADERS)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <atomic> <chrono> <functional> <map> <memory> <optional> <span>
    <string> <string_view> <thread> <utility> <variant> <vector> <fmt/format.h> <absl/container/flat_hash_map.h> ${ARGN})
endfunction()

# Names live long between what requests need for a moment; one size class each keeps them from cutting up the heap.
# The sanitizers bring an allocator of their own.
function(kvpagefs_daemon_heap target)
  if(NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")
    target_link_libraries(${target} PRIVATE PkgConfig::jemalloc)
  endif()
endfunction()

function(kvpagefs_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LAYERS;LIBRARIES" ${ARGN})
  add_library(kvpagefs_${name} STATIC ${arg_SOURCES})
  target_link_libraries(kvpagefs_${name} PUBLIC kvpagefs_flags)
  foreach(layer ${arg_LAYERS})
    target_link_libraries(kvpagefs_${name} PUBLIC kvpagefs_${layer})
  endforeach()
  target_link_libraries(kvpagefs_${name} PUBLIC ${arg_LIBRARIES})
  kvpagefs_precompile(kvpagefs_${name})
endfunction()
