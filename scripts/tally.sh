# Counts what the checks and tests printed. Sourced; defines functions only.
# shellcheck shell=bash

# Skips that no machine without the hardware can avoid. Everything else must run where CI=true,
# the lab under an emulated CPU above all.
EXCUSED='needs (KVM|hardware|root|device-mapper)'

# The lines of log $1 that say that a test was skipped, each once.
skipped() { grep -aE '^SKIP ' "$1" | sort -u; }

# Those that are no excuse.
unexcused() { skipped "$1" | grep -avE "$EXCUSED"; }

# Prints "N passed, N failed, N skipped" for log $1; fails when anything failed or nothing passed.
#
# It counts the summaries of cargo's test binaries, the lines "CHECK passed: NAME" and
# "CHECK failed: NAME", and "SKIP NAME: REASON". A Rust test that skips itself ends as passed, so
# it is taken off there. Where CI=true a skip without an excuse is a failure.
tally() {
    local log=$1 passed failed skipped unexcused=0
    passed=$(count "$log" passed)
    failed=$(count "$log" failed)
    skipped=$(skipped "$log" | wc -l)
    [ "${CI:-}" != true ] || unexcused=$(unexcused "$log" | wc -l)
    passed=$((passed - $(skipped "$log" | grep -acv '^SKIP CHECK ')))
    failed=$((failed + unexcused))
    echo "$passed passed, $failed failed, $((skipped - unexcused)) skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# How many checks and tests of log $1 ended as $2 (passed, failed).
count() {
    awk -v word="$2" '
        /^test result: / { for (i = 2; i <= NF; i++) if ($i == word ";") sum += $(i - 1) }
        $1 == "CHECK" && $2 == word ":" { sum++ }
        END { print sum + 0 }' "$1"
}
