# Which machine this is. Sourced; defines functions only.
# shellcheck shell=bash

# Where the system says what it is; tests name another file.
OS_RELEASE=${FATHOM_OS_RELEASE:-/etc/os-release}

say() { printf '%s\n' "$*" >&2; }

# One value of os-release, without quotes.
os_value() {
    sed -n "s/^$1=//p" "$OS_RELEASE" 2>/dev/null | tr -d "\"'" | head -n 1
}

# Fails with code 3, the environment lacks something, where Fathom cannot set itself up.
check_machine() {
    local machine name
    machine=$(uname -m)
    name=$(os_value PRETTY_NAME)
    if [ "$machine" != x86_64 ]; then
        say "Fathom runs on x86-64; this machine is $machine."
        say "help: use an x86-64 machine. The lab's guest has an x86-64 kernel, and the program is built for it."
        return 3
    fi
    case " $(os_value ID) $(os_value ID_LIKE) " in
        *" debian "* | *" ubuntu "*) return 0 ;;
    esac
    say "Fathom sets itself up on Debian and Ubuntu; this is ${name:-an unknown system}."
    say "help: install by hand:"
    say "  - Rust $(minimum_rust) or newer (https://rustup.rs)"
    say "  - a C compiler and the static C library (gcc, glibc-static or libc6-dev)"
    say "  - QEMU for x86-64 (qemu-system-x86_64)"
    say "  - apt, dpkg and debian-archive-keyring, from which the lab's guest is made"
    say "then run: cargo build --release --locked"
    return 3
}
