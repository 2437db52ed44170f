# Cross build for AArch64 with Debian's g++-aarch64-linux-gnu; tests run under qemu-user. The libraries that tests need are header-only and
# come from /usr/include, which this compiler searches last; flatc is the host's. Text needs PCRE2 for AArch64: LINNET_TEXT=OFF without it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)  # qemu then needs no folder of libraries
