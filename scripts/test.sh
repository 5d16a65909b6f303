#!/usr/bin/env bash
# make test: installs what is missing, runs every check and test, ends with the total.
set -u
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
# shellcheck source=scripts/path.sh
. "$ROOT/scripts/path.sh"
# shellcheck source=scripts/tally.sh
. "$ROOT/scripts/tally.sh"
# shellcheck source=scripts/steps.sh
. "$ROOT/scripts/steps.sh"
cd "$ROOT" || exit

setup build lab test || exit
log=$(mktemp)
programs=$(mktemp -d)
trap 'rm -rf "$log" "$programs"' EXIT
# A program that set-up does not install is not there for the tests either, whatever else this machine has.
link_declared_programs "$programs"
PATH=$programs

read -ra deny <<<"$(deny_warnings)"

# All in the release profile, as `make demo` builds: dependencies are compiled once.
check shellcheck shellcheck -x scripts/*.sh scripts/tests/*.sh .ci/run
check_with fmt format cargo fmt --all --check
for file in scripts/tests/*.sh; do
    check "$file" "$file"
done
check_with clippy lints cargo clippy --release --locked --workspace --all-targets -- "${deny[@]}"
check_tests cargo test --release --locked --workspace --no-fail-fast -- --show-output
# Tests leave a program with faults on purpose where the README looks for the one without.
shipped() {
    build fathom && ! "$(program)" run --help | grep -e --inject
}
check shipped shipped
RUSTDOCFLAGS="${deny[*]}" check documentation cargo doc --release --locked --workspace --no-deps

echo
grep -aE '^CHECK failed|^test .* FAILED$' "$log"
skipped "$log"
if [ "${CI:-}" = true ] && unexcused "$log" >/dev/null; then
    echo "Skipped without an excuse, which counts as failed here:"
    unexcused "$log"
fi
tally "$log"
