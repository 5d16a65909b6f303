#!/usr/bin/env bash
# make catalogue: every shipped experiment in the lab, with the sources' figures beside those found. Goes on where it stopped.
# CATALOGUE_OPTIONS are options of `fathom catalogue`, as in CATALOGUE_OPTIONS="--repeat 1" make catalogue.
set -u
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
cd "$ROOT" || exit

setup build lab || exit
build fathom || exit
# shellcheck disable=SC2086
exec "$(program)" catalogue all --out catalogue ${CATALOGUE_OPTIONS-}
