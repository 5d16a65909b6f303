#!/usr/bin/env bash
# Tests of the set-up, each in a machine of stubs: an empty home, a PATH with nothing in it but the
# plain tools of a system and what the test puts there, and an os-release of its own.
# shellcheck disable=SC2015,SC2016 # A && B || fail is what is meant; stubs expand their own variables
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
failures=0

fail() {
    echo "FAILED ${FUNCNAME[1]}: $1"
    sed 's/^/    /' "$machine/said" 2>/dev/null
    failures=$((failures + 1))
    return 1
}

# A fresh machine. What a stub was called with goes to the file `calls`.
new_machine() {
    machine=$(mktemp -d)
    mkdir "$machine/bin" "$machine/home" "$machine/keyrings"
    local tool
    for tool in bash sh cat head tail sed grep sort cut tr awk mktemp rm mkdir chmod cp env dirname wc; do
        ln -s "$(command -v "$tool")" "$machine/bin/$tool"
    done
    printf 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n' >"$machine/os-release"
    touch "$machine/certificates" "$machine/keyrings/debian-archive-keyring.gpg" "$machine/calls"
    stub uname 'echo x86_64'
    stub id 'echo 0'
    stub dpkg-query 'exit 1'
    stub apt-get ''
    stub apt-cache 'echo "  Candidate: 1.0"'
    stub qemu-system-x86_64 ''
    stub cc "echo $machine/certificates"
}

stub() {
    printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\n%s\n' "$1" "$machine" "$2" >"$machine/bin/$1"
    chmod +x "$machine/bin/$1"
}

no_rustup_package() {
    stub apt-cache '[ "$2" = rustup ] && echo "  Candidate: (none)" || echo "  Candidate: 1.0"'
}

rust() {
    stub rustc "echo 'rustc $1 (0123abc 2026-01-01)'"
    stub cargo "echo 'cargo $1'"
}

# An installer that puts compiler version $1 into the user's home, as the official one does.
installer() {
    cat >"$machine/installer" <<EOF
echo "installer \$* path_check=\$RUSTUP_INIT_SKIP_PATH_CHECK" >>"$machine/calls"
mkdir -p "\$HOME/.cargo/bin"
for name in rustc cargo; do
    printf '#!/bin/sh\necho "%s $1"\n' \$name >"\$HOME/.cargo/bin/\$name"
    chmod +x "\$HOME/.cargo/bin/\$name"
done
EOF
    stub curl 'while [ $# -gt 1 ]; do shift; done; cat '"$machine/installer"' >"$1"'
}

# Runs the set-up; its words are in `said`, its exit code in $code.
set_up() {
    env -i PATH="$machine/bin" HOME="$machine/home" FATHOM_OS_RELEASE="$machine/os-release" \
        FATHOM_CERTIFICATES="$machine/certificates" FATHOM_KEYRINGS="$machine/keyrings" CI=true \
        bash "$root/scripts/setup.sh" "$@" >"$machine/said" 2>&1 </dev/null
    code=$?
}

said() { grep -qF -- "$1" "$machine/said"; }
called() { grep -qE -- "$1" "$machine/calls"; }

nothing_is_said_or_done_where_nothing_is_missing() {
    rust 1.95.0
    set_up build lab
    [ "$code" -eq 0 ] || fail "exit code $code"
    [ ! -s "$machine/said" ] || fail "it spoke"
    ! called 'apt|curl|sudo' || fail "it acted"
}

a_toolchain_of_exactly_the_minimum_suffices() {
    rust "$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$root/Cargo.toml").0"
    installer 1.99.0
    set_up build
    [ "$code" -eq 0 ] && ! called 'curl|installer' || fail "it was touched"
}

an_old_compiler_is_named_left_alone_and_a_new_one_put_beside_it() {
    rust 1.70.0
    no_rustup_package
    installer 1.99.0
    set_up build
    [ "$code" -eq 0 ] || fail "exit code $code"
    ! called 'apt-get' || fail "it asked for a package that is not offered"
    said "Rust 1.70.0 is older than" || fail "the version is not named"
    called 'installer -y --no-modify-path --profile minimal' || fail "the installer did not run"
    called 'path_check=yes' || fail "the installer would refuse beside an old compiler"
    called "curl --proto =https,file .*https://sh.rustup.rs" || fail "not from the official place"
    "$machine/bin/rustc" | grep -qF 1.70.0 || fail "the old compiler is gone"
}

an_old_package_of_the_distribution_is_not_removed_for_its_rustup() {
    rust 1.70.0
    stub dpkg-query 'echo installed'
    installer 1.99.0
    set_up build
    [ "$code" -eq 0 ] && called '^installer' && ! called 'apt-get.*rustup' || fail "rustup would replace rustc"
}

without_a_toolchain_the_distributions_rustup_comes_first() {
    # Installing the package brings a rustup, which brings a compiler.
    stub apt-get "case \"\$*\" in *rustup*) cp $machine/rustup $machine/bin/rustup;; esac"
    cat >"$machine/rustup" <<EOF
#!/bin/sh
echo "rustup \$*" >>"$machine/calls"
case "\$1 \$2" in
    "toolchain install") echo done >"$machine/installed"
        printf '#!/bin/sh\necho "rustc 1.99.0"\n' >"$machine/bin/rustc"
        cp "$machine/bin/rustc" "$machine/bin/cargo"; chmod +x "$machine/bin/rustc" "$machine/bin/cargo" ;;
    "toolchain list") [ ! -e "$machine/installed" ] || echo stable-x86_64-unknown-linux-gnu ;;
esac
EOF
    chmod +x "$machine/rustup"
    installer 1.99.0
    set_up build
    [ "$code" -eq 0 ] || fail "exit code $code"
    said "There is no Rust toolchain" || fail "it does not say why"
    called 'apt-get .*install .*rustup' && called 'rustup toolchain install stable' || fail "rustup was not used"
    ! called '^(installer|curl)' || fail "the official installer ran as well"
}

an_installer_that_cannot_be_fetched_is_an_error_with_a_remedy() {
    no_rustup_package
    stub curl 'echo "curl: (6) Could not resolve host" >&2; exit 6'
    set_up build
    [ "$code" -eq 3 ] || fail "exit code $code"
    said "help: see what the installer says above" || fail "no remedy"
}

an_installer_that_brings_too_old_a_compiler_is_an_error() {
    no_rustup_package
    installer 1.60.0
    set_up build
    [ "$code" -eq 3 ] && said "There is still no Rust" || fail "exit code $code"
}

missing_packages_are_named_before_they_are_installed() {
    rust 1.95.0
    rm "$machine/bin/qemu-system-x86_64" "$machine/keyrings/debian-archive-keyring.gpg"
    stub apt-get "cp $machine/said $machine/said_before"
    set_up build lab
    [ "$code" -eq 0 ] || fail "exit code $code"
    grep -qF "qemu-system-x86 (virtual machines" "$machine/said_before" || fail "not named before"
    called 'apt-get .*install -y --no-install-recommends --no-remove qemu-system-x86 debian-archive-keyring' ||
        fail "not installed"
    ! called 'apt-get .*update' || fail "the lists were known and yet fetched again"
}

unknown_packages_make_it_fetch_the_lists_once() {
    rust 1.95.0
    rm "$machine/bin/qemu-system-x86_64"
    stub apt-cache 'exit 100'
    set_up lab
    [ "$code" -eq 0 ] && [ "$(grep -c 'apt-get .*update' "$machine/calls")" -eq 1 ] || fail "exit code $code"
}

an_ordinary_user_installs_with_sudo_and_without_it_is_told_what_to_run() {
    rust 1.95.0
    stub id 'echo 1000'
    stub sudo '[ "$1" = -n ] && shift; exec "$@"'
    rm "$machine/bin/qemu-system-x86_64"
    set_up lab
    [ "$code" -eq 0 ] && called 'sudo -n env DEBIAN_FRONTEND=noninteractive apt-get' || fail "exit code $code"
    rm "$machine/bin/sudo"
    set_up lab
    [ "$code" -eq 3 ] && said "Not root, and there is no sudo" && said "help:" || fail "exit code $code"
}

another_distribution_is_told_what_to_install_by_hand() {
    rust 1.95.0
    printf 'ID=fedora\nPRETTY_NAME="Fedora Linux 43"\n' >"$machine/os-release"
    set_up build lab
    [ "$code" -eq 3 ] || fail "exit code $code"
    said "this is Fedora Linux 43" && said "qemu-system-x86_64" && said "Rust 1." || fail "it does not say what"
    ! called 'apt-get' || fail "it tried to install"
}

a_derivative_of_debian_is_set_up_like_debian() {
    rust 1.95.0
    printf 'ID=linuxmint\nID_LIKE="ubuntu debian"\n' >"$machine/os-release"
    set_up build lab
    [ "$code" -eq 0 ] || fail "exit code $code"
}

another_processor_is_told_that_it_will_not_do() {
    rust 1.95.0
    stub uname 'echo aarch64'
    set_up build
    [ "$code" -eq 3 ] && said "this machine is aarch64" && said "help:" || fail "exit code $code"
}

for test in $(declare -F | sed -n 's/^declare -f \([a-z]*_.*_.*_.*\)$/\1/p'); do
    new_machine
    before=$failures
    "$test"
    [ "$failures" -ne "$before" ] || echo "ok $test"
    rm -rf "$machine"
done
[ "$failures" -eq 0 ]
