#!/usr/bin/env bash
# make bench: builds, then measures Fathom itself.
set -u
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
cd "$ROOT" || exit

setup build lab || exit
build fathom-bench || exit
exec "$(program fathom-bench)" lab
