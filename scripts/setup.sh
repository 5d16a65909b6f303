#!/usr/bin/env bash
# Sees to it that this machine has what Fathom needs: scripts/setup.sh [build] [lab] [test]
#
# Says what is missing before it installs anything, and does nothing where nothing is missing.
# The other scripts source this file and call `setup`, so that they run with the toolchain found.
# Exit code 3: something is lacking that could not be installed.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/machine.sh
. "$ROOT/scripts/machine.sh"
# shellcheck source=scripts/packages.sh
. "$ROOT/scripts/packages.sh"
# shellcheck source=scripts/toolchain.sh
. "$ROOT/scripts/toolchain.sh"

setup() {
    check_machine && see_to_packages "$@" && see_to_toolchain
}

# Where cargo puts program $1 [fathom].
program() {
    local target
    target=$(cargo metadata --format-version 1 --no-deps --offline 2>/dev/null |
        sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
    echo "${target:-$ROOT/target}/x86_64-unknown-linux-gnu/release/${1:-fathom}"
}

# Builds program $1, and takes its debug information out of it into a file beside it, where debuggers and backtraces find it.
build() {
    local file
    say "Building ..."
    cargo build --release --locked --bin "$1" || return
    file=$(program "$1")
    # It has none where it was built before.
    if readelf -SW "$file" 2>/dev/null | grep -q '\.debug_line'; then
        # In a file of its own, so that what is cut short is never the program.
        { objcopy --only-keep-debug "$file" "$file.debug" &&
            objcopy --strip-all --add-gnu-debuglink="$file.debug" "$file" "$file.stripped" &&
            mv "$file.stripped" "$file"; } || { rm -f "$file.stripped"; say "The debug information stays in the program."; }
    fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    cd "$ROOT" && setup "$@"
fi
