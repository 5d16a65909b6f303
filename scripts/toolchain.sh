# The Rust toolchain. Sourced; defines functions only.
# shellcheck shell=bash

# Where the official installer comes from; tests name another place.
RUSTUP_URL=${FATHOM_RUSTUP_URL:-https://sh.rustup.rs}

# The oldest compiler that the workspace takes, as Cargo.toml states it.
minimum_rust() { sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' "$ROOT/Cargo.toml" | head -n 1; }

# The version of the compiler that would run now; empty without one.
found_rust() { rustc --version 2>/dev/null | sed -n 's/^rustc \([0-9.]*\).*/\1/p'; }

# Whether version $1 is at least version $2.
at_least() { [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Whether the toolchain that would run now suffices.
suffices() { at_least "$(found_rust)" "$(minimum_rust)" && cargo --version >/dev/null 2>&1; }

# Makes a toolchain that suffices the one that runs, for this process only, if there is one.
find_toolchain() {
    suffices && return 0
    local path=$PATH
    PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    suffices && return 0
    if has rustup && rustup toolchain list 2>/dev/null | grep -q '^stable'; then
        export RUSTUP_TOOLCHAIN=stable
        suffices && return 0
        unset RUSTUP_TOOLCHAIN
    fi
    has rustup || PATH=$path
    return 1
}

# Debian's rustup package replaces its rustc and cargo packages; these are not ours to remove.
distribution_has_rustup() {
    local package
    for package in rustc cargo; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ] || return 1
    done
    all_known rustup
}

install_stable() {
    say "Installing the stable toolchain with rustup, in this user's home directory."
    rustup toolchain install stable --profile minimal --component rustfmt,clippy >&2 || return 3
    # A fresh rustup has no default; one that the user chose stays.
    rustup default >/dev/null 2>&1 || rustup default stable >&2
    hash -r
}

run_official_installer() {
    local installer status
    say "Installing Rust with the official installer from $RUSTUP_URL, in this user's home directory."
    say "Shell profiles are left alone; afterwards, \". ${CARGO_HOME:-$HOME/.cargo}/env\" makes cargo known to a shell."
    has curl || { say "Installing curl first, to fetch it."; install_packages curl || return 3; }
    installer=$(mktemp)
    if curl --proto '=https,file' --tlsv1.2 -fsSL "$RUSTUP_URL" -o "$installer"; then
        # It refuses where an older compiler is installed, which stays as it is, unless told not to look.
        RUSTUP_INIT_SKIP_PATH_CHECK=yes sh "$installer" -y --no-modify-path --profile minimal \
            --default-toolchain stable --component rustfmt --component clippy >&2 </dev/null
        status=$?
    else
        status=3
    fi
    rm -f "$installer"
    hash -r
    return "$status"
}

# Sees to a toolchain that is new enough. One that suffices is never touched.
see_to_toolchain() {
    local minimum found
    find_toolchain && return 0
    minimum=$(minimum_rust)
    found=$(found_rust)
    if [ -n "$found" ]; then
        say "Rust $found is older than $minimum, which Fathom needs (rust-version in Cargo.toml)."
    else
        say "There is no Rust toolchain; Fathom needs Rust $minimum or newer (rust-version in Cargo.toml)."
    fi
    if ! has rustup; then
        all_known bash || apt_get update >/dev/null || true
        if distribution_has_rustup; then
            say "Installing this distribution's rustup package."
            install_packages rustup || say "That failed; the official installer is next."
        fi
    fi
    if has rustup; then
        install_stable
    else
        run_official_installer
    fi
    find_toolchain && return 0
    say "There is still no Rust $minimum or newer."
    say "help: see what the installer says above, or install it by hand from https://rustup.rs, then start again"
    return 3
}
