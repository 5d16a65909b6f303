# Steps of `make test` and `make check`, each shown and kept in $log for the count. Sourced; defines functions only.
# shellcheck shell=bash disable=SC2154

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

# The options that make warnings errors: none where the compiler is newer than this, since it may warn of things that nobody has seen yet.
LINTED_WITH=1.95
deny_warnings() {
    if at_least "$LINTED_WITH.99" "$(found_rust)"; then
        echo "-D warnings"
    else
        say "Rust $(found_rust) is newer than $LINTED_WITH: warnings that it alone knows do not count."
    fi
}
