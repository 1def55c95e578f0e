# Every third-party library, under one name each. gRPC and what it needs are linked statically: a
# dynamic gRPC costs each command some 12 ms at start. libc stays dynamic, or user lookups (NSS) break.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
set(OPENSSL_USE_STATIC_LIBS TRUE)  # loading it costs each command 1.5 ms
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
# of the accounting daemon
find_library(SOCI_CORE_ARCHIVE NAMES libsoci_core.a REQUIRED)
find_library(SOCI_SQLITE_ARCHIVE NAMES libsoci_sqlite3.a REQUIRED)
find_path(SOCI_INCLUDE soci/soci.h REQUIRED)
add_library(sluice_soci INTERFACE)
target_include_directories(sluice_soci SYSTEM INTERFACE ${SOCI_INCLUDE} ${SOCI_INCLUDE}/soci)
target_link_libraries(sluice_soci INTERFACE ${SOCI_SQLITE_ARCHIVE} ${SOCI_CORE_ARCHIVE} SQLite::SQLite3 dl)
find_path(BOOST_ASIO_INCLUDE boost/asio.hpp REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(PMIX REQUIRED pmix)  # its headers: the step daemon loads it when a step wants it
file(GLOB MATH_ARCHIVE /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libm-*.a)  # libm.a is a script that names it
pkg_check_modules(LUA REQUIRED IMPORTED_TARGET lua5.4)  # shared: modules in C find its names in the process
find_path(PAM_INCLUDE security/pam_appl.h REQUIRED)  # likewise for UsePAM
find_library(MUNGE_ARCHIVE NAMES libmunge.a REQUIRED)
find_library(NGHTTP2_ARCHIVE NAMES libnghttp2.a REQUIRED)
find_library(LZ4_ARCHIVE NAMES liblz4.a REQUIRED)

# (Asking pkg-config for grpc++'s closure takes 20 s; the list is short.)
file(GLOB absl_archives /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libabsl_*.a)
set(grpc_archives)
foreach(lib IN ITEMS grpc++ grpc gpr upb address_sorting re2 cares z)
  find_file(archive_${lib} NAMES lib${lib}.a PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib REQUIRED)
  list(APPEND grpc_archives ${archive_${lib}})
endforeach()
add_library(sluice_grpc INTERFACE)
# common/rpc/idle.hpp, guard/connection_guard.hpp and guard/served_calls.hpp say why
target_link_options(sluice_grpc INTERFACE -Wl,--wrap=grpc_completion_queue_next,--wrap=gpr_cv_wait
                    -Wl,--wrap=recvmsg,--wrap=sendmsg,--wrap=close
                    -Wl,--wrap=SSL_new,--wrap=SSL_read,--wrap=SSL_write
                    -Wl,--wrap=_ZN9grpc_core5Arena15CreateWithAllocEmmPN17grpc_event_engine12experimental15MemoryAllocatorE
                    -Wl,--wrap=_ZN9grpc_core5Arena7DestroyEv)
target_link_libraries(sluice_grpc INTERFACE
  -Wl,--start-group ${grpc_archives} ${absl_archives} -Wl,--end-group
  OpenSSL::SSL OpenSSL::Crypto Threads::Threads dl rt)
