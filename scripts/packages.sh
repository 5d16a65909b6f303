# Debian and Ubuntu packages that Fathom needs. Sourced; defines functions only.
# shellcheck shell=bash

# Prints "package reason" for each package that is missing for the purposes given:
# build (the program), lab (virtual machines), test (the tests).
missing_packages() {
    local need=need_if_missing
    each_package "$@"
}

# Prints "package reason" for each package that the purposes given need, installed or not.
needed_packages() {
    local need=need_always
    each_package "$@"
}

need_if_missing() { "${@:3}" || need_always "$@"; }
need_always() { echo "$1 $2"; }

# Hands each package that the purposes given need to $need: its name, the reason, and the command that tells whether it is there.
#
# The tests run with no programs on their PATH but those of these packages (scripts/path.sh), so a program that is
# started and not named here is noticed on any machine.
each_package() {
    local purpose
    for purpose in "$@"; do
        case $purpose in
            build)
                "$need" gcc "C compiler, for LZ4 and for linking" has cc
                "$need" libc6-dev "static C library: the program is one static file" has_static_libc
                "$need" ca-certificates "certificates, to fetch crates over https" [ -e "$CERTIFICATES" ]
                ;;
            lab)
                "$need" qemu-system-x86 "virtual machines of the lab" has qemu-system-x86_64
                "$need" apt "fetches the packages of the lab's guest" has apt-get
                "$need" debian-archive-keyring "verifies the packages of the lab's guest" has_keyring
                ;;
            test)
                "$need" shellcheck "checks the scripts" has shellcheck
                "$need" python3 "reads a result without Fathom, as its manual shows" has python3
                "$need" python3-six "fio's program that reads what is exported for it needs it" has_six
                "$need" e2fsprogs "file systems that must not be overwritten" has_system mkfs.ext4
                "$need" xfsprogs "a file system that commands work in" has_system mkfs.xfs
                "$need" btrfs-progs "a file system whose snapshots share what they hold" has_system mkfs.btrfs
                "$need" mount "loop devices" has_system losetup
                "$need" xz-utils "unpacks the corpora of the estimate" has xz
                "$need" fio "the peer that the engine is compared with" has fio
                "$need" strace "shows that a device which is only asked about is never opened" has strace
                "$need" libnbd-bin "clients of a volume of our own" has nbdcopy
                "$need" qemu-utils "more of them, and images to estimate" has qemu-io
                # Ubuntu's package only points to a snap, which does not run everywhere.
                [ "$(os_value ID)" = ubuntu ] || "$need" chromium "opens the report page" has chromium
                ;;
        esac
    done
}

CERTIFICATES=${FATHOM_CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}
KEYRINGS=${FATHOM_KEYRINGS:-/usr/share/keyrings}

has() { command -v "$1" >/dev/null 2>&1; }

# Programs of the system are not on every user's PATH.
has_system() { has "$1" || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; }

has_six() { python3 -c 'import six' 2>/dev/null; }

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
