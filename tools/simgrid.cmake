# Options of SimGrid's own build, read as a CMake toolchain file. Link-time optimisation and tables
# for debuggers take most of the time and change no result. SimGrid's CMakeLists.txt adds -g3 -O3;
# these flags come after them.
set(enable_lto OFF CACHE BOOL "" FORCE)
set(CMAKE_C_FLAGS_RELEASE "-g0 -O2 -DNDEBUG" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-g0 -O2 -DNDEBUG" CACHE STRING "" FORCE)
