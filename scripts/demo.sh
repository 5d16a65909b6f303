#!/usr/bin/env bash
# make demo: from a bare machine to a page about real dm-vdo.
set -u
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
cd "$ROOT" || exit

setup build lab || exit
build fathom || exit
fathom=$(program)
name=vdo-vs-plain-$(date -u +%Y%m%dT%H%M%SZ)
result=demo/$name
page=demo/$name.html
mkdir -p demo

"$fathom" lab run vdo-vs-plain --out "$result"
status=$?
# What was measured before a failure or an interrupt is shown as well: the page says that it is incomplete.
if [ ! -e "$result/manifest.json" ]; then
    exit "$((status == 0 ? 5 : status))"
fi
# `lab run` has printed the summary (`fathom show` prints it again).
if "$fathom" report "$result" -o "$page"; then
    echo
    echo "Result: $ROOT/$result"
    echo "Report: $ROOT/$page (open it in a browser; it needs no network)"
else
    status=$((status == 0 ? 1 : status))
fi
exit "$status"
