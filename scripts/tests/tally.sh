#!/usr/bin/env bash
# Tests of the count of test results.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=scripts/tally.sh
. "$root/scripts/tally.sh"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failures=0

# Holds the total of the log on standard input, and whether it is good, against what is expected.
expect() {
    local name=$1 expected=$2 good=$3 got code=0
    cat >"$log"
    got=$(tally "$log") || code=1
    if [ "$got" = "$expected" ] && [ "$code" -eq "$((good == 1 ? 0 : 1))" ]; then
        echo "ok $name"
    else
        echo "FAILED $name: got \"$got\", code $code"
        failures=$((failures + 1))
    fi
}

CI=
expect all_binaries_and_checks_are_added_up "11 passed, 0 failed, 0 skipped" 1 <<'LOG'
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
CHECK passed: format (1 s)
LOG
expect one_failure_fails_the_whole "6 passed, 2 failed, 0 skipped" 0 <<'LOG'
test result: FAILED. 6 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
CHECK failed: tests (9 s)
LOG
expect a_test_that_skips_itself_has_not_passed "6 passed, 0 failed, 1 skipped" 1 <<'LOG'
---- the_lab_boots stdout ----
SKIP the_lab_boots: no virtual machine can be started
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
LOG
expect a_binary_of_its_own_kind_that_skips_takes_nothing_off "7 passed, 0 failed, 1 skipped" 1 <<'LOG'
     Running tests/it/main.rs
---- a_test stdout ----
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running tests/it/main.rs
SKIP the_guest_boots: no mirror
LOG
expect a_check_that_was_skipped_takes_nothing_off "7 passed, 0 failed, 1 skipped" 1 <<'LOG'
SKIP CHECK lints: this toolchain has no cargo clippy
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
LOG
expect nothing_at_all_is_no_success "0 passed, 0 failed, 0 skipped" 0 </dev/null
CI=true
expect a_lab_test_that_was_skipped_fails_ci "6 passed, 1 failed, 0 skipped" 0 <<'LOG'
---- the_lab_boots stdout ----
SKIP the_lab_boots: no virtual machine can be started
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
LOG
expect a_test_of_hardware_that_is_not_there_may_be_skipped_in_ci "6 passed, 0 failed, 1 skipped" 1 <<'LOG'
---- kvm_boots_faster stdout ----
SKIP kvm_boots_faster: needs KVM
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
LOG
[ "$failures" -eq 0 ]
