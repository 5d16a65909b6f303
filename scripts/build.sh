#!/usr/bin/env bash
# make build: installs what is missing, builds the program, says where it is.
set -u
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
cd "$ROOT" || exit

setup build || exit
build fathom || exit
echo "The program is $(program), with its debug information beside it"
