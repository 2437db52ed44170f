#!/bin/sh
# install_packages.sh PACKAGE...: installs the Debian packages that are missing; does nothing when all are there.
set -eu
missing=""
for package in "$@"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ]; then as_root=""
elif command -v sudo >/dev/null; then as_root="sudo"
else
  echo "these packages are missing:$missing" >&2
  echo "install them as root: apt-get install$missing" >&2
  exit 1
fi
echo "installing:$missing" >&2
$as_root apt-get update -qq >&2
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
