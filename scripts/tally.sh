# Counts what the checks and tests printed. Sourced; defines functions only.
# shellcheck shell=bash

# Skips that only other hardware, another kernel or another user avoids. Everything else must run
# where CI=true, the lab under an emulated CPU above all.
EXCUSED='needs? (KVM|hardware|root)|this processor|/dev/mapper/control|device-mapper|control_node|real_block_device'

# The lines of log $1 that say that a test was skipped, each once.
skipped() { grep -aE '^SKIP ' "$1" | sort -u; }

# Those that are no excuse.
unexcused() { skipped "$1" | grep -avE "$EXCUSED"; }

# Prints "N passed, N failed, N skipped" for log $1; fails when anything failed or nothing passed.
#
# It counts the summaries of cargo's test binaries, the lines "CHECK passed: NAME" and
# "CHECK failed: NAME", and "SKIP NAME: REASON". A Rust test that skips itself ends as passed and
# is taken off there. Where CI=true a skip without an excuse is a failure.
tally() {
    local log=$1 passed failed skipped unexcused=0
    passed=$(count "$log" passed)
    failed=$(count "$log" failed)
    skipped=$(skipped "$log" | wc -l)
    [ "${CI:-}" != true ] || unexcused=$(unexcused "$log" | wc -l)
    passed=$((passed - $(skipped_and_passed "$log")))
    failed=$((failed + unexcused))
    echo "$passed passed, $failed failed, $((skipped - unexcused)) skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# How many skips came from tests that Rust's test harness counts as passed. It shows what such a test
# printed below a line "---- NAME stdout ----"; a binary without the harness prints right away.
skipped_and_passed() {
    awk '
        /^ *Running / || /^ *Doc-tests / { shown = 0 }
        /^---- .* stdout ----$/ { shown = 1 }
        /^SKIP / && shown && !seen[$0]++ { sum++ }
        END { print sum + 0 }' "$1"
}

# How many checks and tests of log $1 ended as $2 (passed, failed).
count() {
    awk -v word="$2" '
        /^test result: / { for (i = 2; i <= NF; i++) if ($i == word ";") sum += $(i - 1) }
        $1 == "CHECK" && $2 == word ":" { sum++ }
        END { print sum + 0 }' "$1"
}
