# Debian and Ubuntu packages that Fathom needs. Sourced; defines functions only.
# shellcheck shell=bash

# Prints "package reason" for each package that is missing for the purposes given:
# build (the program), lab (virtual machines), test (the tests).
missing_packages() {
    local purpose
    for purpose in "$@"; do
        case $purpose in
            build)
                has cc || echo "gcc C compiler, for LZ4 and for linking"
                has_static_libc || echo "libc6-dev static C library: the program is one static file"
                [ -e "$CERTIFICATES" ] || echo "ca-certificates certificates, to fetch crates over https"
                ;;
            lab)
                has qemu-system-x86_64 || echo "qemu-system-x86 virtual machines of the lab"
                has apt-get || echo "apt fetches the packages of the lab's guest"
                has_keyring || echo "debian-archive-keyring verifies the packages of the lab's guest"
                ;;
            test)
                has shellcheck || echo "shellcheck checks the scripts"
                has python3 || echo "python3 reads a result without Fathom, as its manual shows"
                has_system mkfs.ext4 || echo "e2fsprogs file systems that must not be overwritten"
                has_system losetup || echo "mount loop devices"
                # Ubuntu's package only points to a snap, which does not run everywhere.
                has chromium || [ "$(os_value ID)" = ubuntu ] || echo "chromium opens the report page"
                ;;
        esac
    done
}

CERTIFICATES=${FATHOM_CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}
KEYRINGS=${FATHOM_KEYRINGS:-/usr/share/keyrings}

has() { command -v "$1" >/dev/null 2>&1; }

# Programs of the system are not on every user's PATH.
has_system() { has "$1" || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; }

has_static_libc() { has cc && [ -e "$(cc -print-file-name=libc.a 2>/dev/null)" ]; }

has_keyring() {
    [ -e "$KEYRINGS/debian-archive-keyring.gpg" ] || [ -e "$KEYRINGS/debian-archive-keyring.pgp" ]
}

# Runs a command as root: directly, or with sudo.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif ! has sudo; then
        say "Not root, and there is no sudo to run: $*"
        say "help: run that as root, then start again"
        return 3
    elif [ -t 0 ] && [ "${CI:-}" != true ]; then
        sudo "$@"
    else
        sudo -n "$@" </dev/null
    fi
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"
}

# Whether apt's lists offer every package named; a bare machine has no lists.
all_known() {
    local package
    for package in "$@"; do
        # `apt-cache show` also knows names that other packages only mention.
        LC_ALL=C apt-cache policy "$package" 2>/dev/null | grep -q '^ *Candidate: [^(]' || return 1
    done
}

# Installs the packages named (apt's errors are shown, not its talk), and refreshes apt's lists only when they do not do.
# Nothing that is installed is removed for it.
install_packages() {
    if all_known "$@"; then
        apt_get install -y --no-install-recommends --no-remove "$@" >/dev/null && return 0
        say "That failed; trying again with fresh package lists."
    fi
    apt_get update >/dev/null || true
    apt_get install -y --no-install-recommends --no-remove "$@" >/dev/null && return 0
    say "Could not install: $*"
    say "help: see what apt says above; install them by hand, then start again"
    return 3
}

# Says what is missing for the purposes given, and installs it.
see_to_packages() {
    local missing names name reason
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    names=$(cut -d ' ' -f 1 <<<"$missing" | tr '\n' ' ')
    say "Missing on this machine:"
    while read -r name reason; do say "  $name ($reason)"; done <<<"$missing"
    say "Installing with apt-get, without recommended packages: $names"
    # shellcheck disable=SC2086 # one word for each package
    install_packages $names
}
