#!/bin/sh
# run.sh: installs what is missing, builds, and runs the unit and golden tests (under 10 minutes on 2 cores).
# run.sh --all: also over 2 GiB, sanitizers (ASan + UBSan, TSan), clang, exceptions, AArch64 and older processors under qemu, hosts as own projects.
set -eu
cd "$(dirname "$0")/.."
all=0
case "${1-}" in
  "") ;;
  --all) all=1 ;;
  *) sed -n '2,3s/^# //p' "$0"; [ "$1" = --help ] && exit 0; exit 2 ;;
esac

packages="g++ cmake ninja-build flatbuffers-compiler libflatbuffers-dev libxxhash-dev libmimalloc-dev nlohmann-json3-dev libcli11-dev libpcre2-dev libboost-test-dev"
[ $all = 0 ] || packages="$packages clang libclang-rt-14-dev libbenchmark-dev g++-aarch64-linux-gnu qemu-user"
examples/install_packages.sh $packages

# build DIR "TARGETS" OPTIONS...: configures, and builds the targets (all: everything).
build() {
  folder=$1
  targets=$2
  shift 2
  echo "== build $folder: $targets $*"
  cmake -S . -B "$folder" -G Ninja -DLINNET_TESTS=ON "$@" >"$folder.log" 2>&1 && cmake --build "$folder" --target $targets >>"$folder.log" 2>&1 || { tail -n 60 "$folder.log"; exit 1; }
  rm -f "$folder.log"
}
test_in() {
  echo "== test $1"
  folder=$1
  shift
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j 2 "$@"
}

hosts="host_c host_fast_math host_no_exceptions linnet-convert"

build build all -DLINNET_WERROR=ON
test_in build
[ $all = 1 ] || exit 0

echo "== a file over 2 GiB (5 GB of disk for a minute)"
build/bin/unit_converter --run_test=@large --log_level=error

# With line tables only: sanitized kernels then compile in less than half the time.
sanitized() {
  build "$1" "$2" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -g1 -DNDEBUG" -DLINNET_SANITIZE="$3"
}
sanitized build-asan "unit_runtime unit_ops unit_sampling unit_text unit_converter unit_programs golden $hosts" address,undefined
test_in build-asan

# TSan: what threads touch.
sanitized build-tsan "unit_runtime unit_ops $hosts" thread
test_in build-tsan -R 'unit_runtime|unit_ops|host_'

# The other compiler; runtime and ops with exceptions and RTTI, and the microbenchmarks, which are built and not run.
build build-clang "golden unit_ops $hosts" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
test_in build-clang -R 'golden|unit_ops|host_c|host_fast_math|host_no_exceptions|host_model'
build build-exceptions "linnet_runtime linnet_ops linnet_text bench_kernels" -DLINNET_EXCEPTIONS=ON -DLINNET_BENCH=ON -DLINNET_WERROR=ON

# AArch64, whose kernels must give the bits recorded on x86. qemu is slow, so what is left out tests no arithmetic (random damage: 3 minutes)
# or the same once more (every combination of threads and chunks; four of them remain).
build build-aarch64 "unit_runtime unit_ops unit_sampling golden" --toolchain tests/aarch64.cmake -DLINNET_TEXT=OFF -DLINNET_PROGRAMS=OFF
qemu-aarch64 build-aarch64/bin/golden --log_level=error --run_test='!the_same_bits_in_every_combination' &
golden=$!
qemu-aarch64 build-aarch64/bin/unit_runtime --log_level=error --run_test='!random_damage_never_crashes'
test_in build-aarch64 -R 'unit_ops|unit_sampling|kernel_symbols'
wait $golden

# A host as its own project, and the two-command start.
echo "== consumers"
cmake -S examples/hosts/embed -B build-embed -G Ninja >build-embed.log 2>&1 && cmake --build build-embed >>build-embed.log 2>&1 || { tail -n 60 build-embed.log; exit 1; }
rm -f build-embed.log
text=$(examples/quickstart.sh)
[ -n "$text" ]
reply=$(build-embed/embed build/linnet-tales.linnet "Once upon a time")
[ -n "$reply" ]
echo "consumers: ok"

# Processors without AVX-512, and without AVX2, run the same file with the same logits.
echo "== older processors"
score() { "$@" build/bin/linnet-score build/linnet-tales.linnet "Once upon a time there was a linnet" --json; }
logits=$(score)
for cpu in core2duo Haswell; do [ "$(score qemu-x86_64 -cpu $cpu)" = "$logits" ]; done
echo "older processors: ok"
