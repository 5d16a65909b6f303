#!/usr/bin/env bash
# Tests of the tests' PATH, on the machine as it is after set-up.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=scripts/setup.sh
. "$root/scripts/setup.sh"
# shellcheck source=scripts/path.sh
. "$root/scripts/path.sh"
failures=0
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
link_declared_programs "$programs"

fail() {
    echo "FAILED ${FUNCNAME[1]}: $1"
    failures=$((failures + 1))
}

programs_of_declared_packages_and_of_what_they_need_are_there() {
    local tool
    for tool in sh env tar make git cc as ld apt-get dpkg-deb qemu-system-x86_64 xz fio python3 losetup mkfs.ext4 cargo rustc; do
        [ -x "$programs/$tool" ] || fail "$tool is not there"
    done
}

a_program_that_no_declared_package_brings_is_not_there() {
    local file
    while read -r file; do
        [ ! -e "$programs/${file##*/}" ] || fail "$file is there"
    done < <(comm -23 <(find /usr/bin /usr/sbin -maxdepth 1 -type f | sort) <(declared_files | sed 's|^/s\?bin/|/usr&|' | sort))
}

no_package_is_asked_for_twice() {
    local twice
    twice=$(needed_packages build lab test | cut -d ' ' -f 1 | sort | uniq -d)
    [ -z "$twice" ] || fail "$twice"
}

programs_of_declared_packages_and_of_what_they_need_are_there
a_program_that_no_declared_package_brings_is_not_there
no_package_is_asked_for_twice
exit "$((failures > 0))"
