# The PATH of the tests: programs of the packages that set-up installs, and no others. Sourced; defines functions only.
# shellcheck shell=bash

# What the user types to get here, and what every Debian system has beside its essential packages.
GIVEN="make git sudo"

# Fills directory $1 with links to the programs that a bare machine has after set-up: those of essential and required packages, of
# the packages that set-up installs, of everything these depend on, and the Rust toolchain. What has no package is left out.
link_declared_programs() {
    local programs=$1 tool
    mkdir -p "$programs"
    # Files are compared without /usr, which packages name or not where /bin is a link to /usr/bin.
    find /usr/bin /usr/sbin /bin /sbin -maxdepth 1 ! -type d 2>/dev/null |
        while read -r tool; do printf '%s\t%s\n' "$tool" "$(readlink -m "$tool")"; done |
        awk -F '\t' '
            { file = $NF; sub("^/usr/", "/", file) }
            NR == FNR { declared[file]; next }
            file in declared { print $1 }' <(declared_files) - |
        xargs -d '\n' ln -sf -t "$programs"
    for tool in cargo cargo-clippy cargo-fmt clippy-driver rustc rustdoc rustfmt rustup; do
        has "$tool" && ln -sf "$(command -v "$tool")" "$programs/$tool"
    done
    return 0
}

# Every file of the declared packages and of what they depend on.
declared_files() {
    local names
    names=$(dpkg-query -W -f='${Package} ${Essential} ${Priority}\n' | awk '$2 == "yes" || $3 == "required" { print $1 }')
    # shellcheck disable=SC2046,SC2086 # one word for each package
    apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
        $names $GIVEN $(needed_packages build lab test | cut -d ' ' -f 1) 2>/dev/null |
        grep -v '^ ' | xargs dpkg -L 2>/dev/null
}
