#!/bin/sh
# quickstart.sh [PROMPT]: from a fresh clone to a model writing text. Only the text goes to stdout.
set -eu
cd "$(dirname "$0")/.."
prompt=${1-Once upon a time}
echo "quickstart: installs missing Debian packages (up to 300 MB), builds two programs (about a minute), converts the bundled model (3 MB), and writes a tale" >&2
examples/install_packages.sh g++ cmake ninja-build flatbuffers-compiler libflatbuffers-dev libxxhash-dev libmimalloc-dev nlohmann-json3-dev libcli11-dev libpcre2-dev
cmake -S . -B build -G Ninja -DLINNET_TESTS=OFF >build-quickstart.log 2>&1 || { cat build-quickstart.log >&2; exit 1; }
cmake --build build --target linnet-convert linnet-run >build-quickstart.log 2>&1 || { cat build-quickstart.log >&2; exit 1; }
rm -f build-quickstart.log
build/bin/linnet-convert examples/models/linnet-tales -o build/linnet-tales.linnet --force >&2
echo >&2
build/bin/linnet-run build/linnet-tales.linnet "$prompt" --echo -n 250 --temperature 0.7 --seed 2
echo
