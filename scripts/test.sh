#!/usr/bin/env bash
# make test: installs what is missing, runs every check and test, ends with the total.
set -u
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
# shellcheck source=scripts/path.sh
. "$ROOT/scripts/path.sh"
# shellcheck source=scripts/tally.sh
. "$ROOT/scripts/tally.sh"
cd "$ROOT" || exit

setup build lab test || exit
log=$(mktemp)
programs=$(mktemp -d)
trap 'rm -rf "$log" "$programs"' EXIT
# A program that set-up does not install is not there for the tests either, whatever else this machine has.
link_declared_programs "$programs"
PATH=$programs

# Runs one step, shows what it prints, and keeps it for the count.
run() {
    printf '\n== %s\n' "$1"
    shift
    "$@" 2>&1 </dev/null | tee -a "$log"
    return "${PIPESTATUS[0]}"
}

# Runs one check, which counts as one.
check() {
    local started=$SECONDS word=failed
    run "$@" && word=passed
    echo "CHECK $word: $1 ($((SECONDS - started)) s)" | tee -a "$log"
}

# Runs Rust's tests, which count themselves, unless they cannot even be built.
check_tests() {
    local before
    before=$(count "$log" failed)
    run tests "$@" && return
    [ "$(count "$log" failed)" -ne "$before" ] || echo "CHECK failed: the tests did not all run" | tee -a "$log"
}

# Runs a check if cargo has the part it needs.
check_with() {
    local part=$1 name=$2
    shift 2
    if cargo "$part" --version >/dev/null 2>&1; then
        check "$name" "$@"
    else
        echo "SKIP CHECK $name: this toolchain has no cargo $part" | tee -a "$log"
    fi
}

# A compiler newer than this may warn of things that nobody has seen yet. Its warnings are shown and not counted.
LINTED_WITH=1.95
deny=(-D warnings)
if ! at_least "$LINTED_WITH.99" "$(found_rust)"; then
    say "Rust $(found_rust) is newer than $LINTED_WITH: warnings that it alone knows do not count."
    deny=()
fi

# All in the release profile, as `make demo` builds: dependencies are compiled once.
check shellcheck shellcheck -x scripts/*.sh scripts/tests/*.sh .ci/run
check_with fmt format cargo fmt --all --check
for file in scripts/tests/*.sh; do
    check "$file" "$file"
done
check_with clippy lints cargo clippy --release --locked --workspace --all-targets -- "${deny[@]}"
check_tests cargo test --release --locked --workspace --no-fail-fast -- --show-output
RUSTDOCFLAGS="${deny[*]}" check documentation cargo doc --release --locked --workspace --no-deps

echo
grep -aE '^CHECK failed|^test .* FAILED$' "$log"
skipped "$log"
if [ "${CI:-}" = true ] && unexcused "$log" >/dev/null; then
    echo "Skipped without an excuse, which counts as failed here:"
    unexcused "$log"
fi
tally "$log"
