#!/usr/bin/env bash
# make check: format, lints and all tests that start no guest, in the development profile; what to run before each commit.
set -u
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
# shellcheck source=scripts/tally.sh
. "$ROOT/scripts/tally.sh"
# shellcheck source=scripts/steps.sh
. "$ROOT/scripts/steps.sh"
cd "$ROOT" || exit

setup build test || exit
log=$(mktemp)
trap 'rm -f "$log"' EXIT
read -ra deny <<<"$(deny_warnings)"

check shellcheck shellcheck -x scripts/*.sh scripts/tests/*.sh .ci/run
check_with fmt format cargo fmt --all --check
check_with clippy lints cargo clippy --locked --workspace --all-targets -- "${deny[@]}"
FATHOM_TEST_LAB=no check_tests cargo test --locked --workspace --no-fail-fast -- --show-output

echo
grep -aE '^CHECK failed|^test .* FAILED$' "$log"
skipped "$log"
tally "$log"
