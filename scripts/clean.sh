#!/usr/bin/env bash
# make clean: removes what was built. Results, the lab's cached guests and installed packages stay.
set -u
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
cd "$ROOT" || exit

if find_toolchain; then
    cargo clean
else
    # Without cargo nothing can have been built elsewhere by this Makefile.
    rm -rf target
fi
