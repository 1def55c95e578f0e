# sluice_library(NAME FOLDER [DEPS ...])   a static library of every .cpp right in src/FOLDER (and its
#                                          sub-folders that are no library of their own)
# sluice_unit_tests(FOLDER [DEPS ...] [LABELS ...] [APART ...])     one test program of every .cpp in tests/unit/FOLDER; APART: the
#                                          files that sluice_unity() is to leave by themselves
set(sluice_warnings -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers)

function(sluice_library name folder)
  cmake_parse_arguments(arg "" "" "DEPS;SUBFOLDERS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp)
  foreach(sub IN LISTS arg_SUBFOLDERS)
    file(GLOB more CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/${sub}/*.cpp)
    list(APPEND sources ${more})
  endforeach()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_compile_options(${name} PRIVATE ${sluice_warnings})
    target_link_libraries(${name} PUBLIC ${arg_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} INTERFACE ${arg_DEPS})
  endif()
endfunction()

function(sluice_unit_tests folder)
  cmake_parse_arguments(arg "" "" "DEPS;LABELS;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  string(REPLACE "/" "_" name "unit_${folder}")
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_compile_options(${name} PRIVATE ${sluice_warnings})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gtest GTest::gtest_main)
  sluice_unity(${name} APART ${arg_APART})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  list(JOIN arg_LABELS , labels)  # one word: discovery takes lists apart; ctest -L matches a part
  set(labels "unit,${labels}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${folder}:"
                       WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTIES LABELS "${labels}")
endfunction()

# sluice_unity(NAME [APART REGEX ...])   with SLUICE_UNITY, four sources of a folder are compiled as one, which takes a third of
#     the time: most of it is spent on headers. For tests, and for libraries that their programs use as a whole: an archive's
#     member is then four files. Files that share a name in their anonymous namespaces cannot be together ("redefinition of"):
#     APART names one of them, without .cpp.
function(sluice_unity name)
  if(NOT SLUICE_UNITY)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "APART" ${ARGN})
  get_target_property(sources ${name} SOURCES)
  set_property(TARGET ${name} PROPERTY UNITY_BUILD ON)
  set_property(TARGET ${name} PROPERTY UNITY_BUILD_MODE GROUP)
  set(last "")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME group)
    if(NOT folder STREQUAL last)
      set(last "${folder}")
      set(count 0)
    endif()
    math(EXPR batch "${count} / 4")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP "${group}_${batch}")
    foreach(pattern IN LISTS arg_APART)
      if(source MATCHES "/${pattern}\\.cpp$")
        set_property(SOURCE ${source} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endforeach()
    math(EXPR count "${count} + 1")
  endforeach()
endfunction()

# What runs at the start lies together (keep-text-section-prefix): a command begins with a tenth fewer page faults.
set(sluice_link_options -no-pie -static-libgcc -static-libstdc++ -Wl,-z,now -Wl,--as-needed -Wl,-z,keep-text-section-prefix)

# sluice_quick_start(NAME)   for what is started all the time: the program loads nothing but libc
function(sluice_quick_start name)
  target_link_options(${name} PRIVATE ${sluice_link_options})
  target_link_libraries(${name} PRIVATE ${MATH_ARCHIVE})
endfunction()

# sluice_strip_installed(FOLDER NAME)   the installed program without symbols: a twentieth of its size
function(sluice_strip_installed folder name)
  install(CODE "execute_process(COMMAND ${CMAKE_STRIP} ${name} COMMAND_ERROR_IS_FATAL ANY
    WORKING_DIRECTORY \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder})")
endfunction()

# sluice_daemon_program(NAME SLURM_NAME MAIN [DEPS ...])   a program in sbin/, hard-linked under its Slurm name
function(sluice_daemon_program name slurm_name main)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  add_executable(${name} ${CMAKE_SOURCE_DIR}/src/${main})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(${name} PRIVATE ${sluice_warnings})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  target_link_options(${name} PRIVATE ${sluice_link_options})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/sbin)
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ln -f $<TARGET_FILE:${name}> ${CMAKE_BINARY_DIR}/sbin/${slurm_name})
  install(PROGRAMS $<TARGET_FILE:${name}> DESTINATION ${CMAKE_INSTALL_SBINDIR})
  sluice_strip_installed(${CMAKE_INSTALL_SBINDIR} ${name})
  # the prefix is the one of `cmake --install --prefix`, known only then
  install(CODE "execute_process(COMMAND ln -f ${name} ${slurm_name} COMMAND_ERROR_IS_FATAL ANY
    WORKING_DIRECTORY \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SBINDIR})")
endfunction()
