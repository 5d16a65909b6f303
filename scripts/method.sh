#!/usr/bin/env bash
# make method: makes the tables of docs/method.md anew, from simulations. Each stands between two marks there.
set -u
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
cd "$ROOT" || exit

setup build || exit
build fathom-bench || exit
tables=$(mktemp) page=$(mktemp) || exit
trap 'rm -f "$tables" "$page"' EXIT
"$(program fathom-bench)" verdicts --simulated --tables >"$tables"
code=$?
# A table takes the place of what stands between its marks; everything else stays.
awk '
    NR == FNR { if (/^<!-- .*: begin -->$/) name = $2; if (name) table[name] = table[name] $0 "\n"; if (/: end -->$/) name = ""; next }
    /^<!-- .*: begin -->$/ && ($2 in table) { printf "%s", table[$2]; inside = 1; next }
    /^<!-- .*: end -->$/ && inside { inside = 0; next }
    !inside
' "$tables" docs/method.md >"$page" || exit
[ -s "$page" ] && cat "$page" >docs/method.md
exit "$code"
