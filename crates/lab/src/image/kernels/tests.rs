//! Lists as Debian's archive had them on 2026-11-26, with the fields that are read.

use super::*;

const BOOKWORM: &str = include_str!("recorded/bookworm");
const BACKPORTS: &str = include_str!("recorded/trixie-backports");

fn all() -> Kernels {
    let backports = listed("trixie-backports", BACKPORTS);
    Kernels::of(backports.into_iter().chain(listed("bookworm", BOOKWORM)))
}

fn names(kernel: &Kernel) -> Vec<&str> {
    kernel.packages.iter().map(|package| package.name.as_str()).collect()
}

#[test]
fn a_kernel_is_resolved_to_the_packages_that_it_consists_of() {
    let all = all();
    let old = all.choose("6.1").unwrap();
    assert_eq!((old.release.as_str(), old.version.as_str()), ("6.1.0-50-amd64", "6.1.176-1"));
    assert_eq!((names(old), old.suite.as_str()), (vec!["linux-image-6.1.0-50-amd64"], "bookworm"));
    assert_eq!(old.packages[0].sha256.len(), 64);
    let split = all.choose("7.3").unwrap();
    let parts = ["binary", "modules", "base"].map(|p| format!("linux-{p}-7.3.4+deb13-amd64"));
    assert_eq!(names(split), parts);
    assert!(split.download() > Bytes(100 << 20), "{}", split.download());
    // The other packages that its image wants to be installed are gone; the image alone is a whole kernel.
    let alone = all.choose("6.18.12").unwrap();
    assert_eq!(names(alone), ["linux-image-6.18.12+deb13-amd64"]);
}

#[test]
fn a_kernel_is_known_by_its_release_and_by_the_beginning_of_its_version() {
    let all = all();
    let release = |name: &str| all.choose(name).unwrap().release.as_str();
    for name in ["6.1.170", "6.1.170-3", "6.1.0-47", "6.1.0-47-amd64"] {
        assert_eq!(release(name), "6.1.0-47-amd64", "{name}");
    }
    assert_eq!(release("6.1"), "6.1.0-50-amd64", "the newest");
    assert_eq!(release("7.2"), "7.2.12+deb13-amd64", "by numbers, not by letters");
    assert_eq!(release("6"), "6.18.15+deb13-amd64");
    let versions = ["7.3~rc7-1~exp1", "7.3.4-1~bpo13+1", "6.12.90-1~bpo12+1", "6.12.90-2~bpo12+1"];
    let mut sorted = versions;
    sorted.sort_by_key(|version| rank(version));
    assert_eq!(sorted, [versions[2], versions[3], versions[0], versions[1]]);
}

#[test]
fn a_kernel_that_is_listed_and_cannot_be_had_whole_is_refused_with_those_near_it() {
    let all = all();
    let listed = all.listed.iter().filter(|kernel| !kernel.is_whole()).count();
    assert_eq!((all.listed.len(), listed), (31, 16));
    for name in ["6.19", "7.1.13", "7.0.4+deb13-amd64"] {
        let error = all.choose(name).unwrap_err();
        let text = format!("{error}; {}", error.help().unwrap());
        assert!(text.contains("trixie-backports lists"), "{text}");
        assert!(text.contains("linux-modules-"), "{text}");
        assert!(text.contains("near it are 6.18.15, 7.2.6"), "{text}");
    }
}

#[test]
fn an_unknown_kernel_is_refused_with_those_near_it_and_with_what_was_not_looked_at() {
    let mut all = all();
    let refusal = |all: &Kernels, name: &str| {
        let error = all.choose(name).unwrap_err();
        format!("{error}; {}", error.help().unwrap())
    };
    assert!(
        refusal(&all, "6.5").contains("near it are 6.1.176, 6.16.3"),
        "{}",
        refusal(&all, "6.5")
    );
    assert!(refusal(&all, "9").contains("near it are 7.3.4"), "{}", refusal(&all, "9"));
    assert!(refusal(&all, "6.1.17").contains("near it are"), "a part of a number is none");
    assert!(refusal(&all, "new").contains("near it are 7.3.4"));
    all.unread.push(("sid".into(), "no answer".into()));
    assert!(refusal(&all, "6.5").contains("not looked at: sid"), "{}", refusal(&all, "6.5"));
}

#[test]
fn of_a_kernel_that_two_suites_have_the_first_counts_that_has_it_whole() {
    let kernel = |suite: &str, gone: &[&str]| Kernel {
        suite: suite.into(),
        gone: gone.iter().map(ToString::to_string).collect(),
        ..listed("bookworm", BOOKWORM)[0].clone()
    };
    let suite = |all: [Kernel; 2]| Kernels::of(all).listed[0].suite.clone();
    assert_eq!(suite([kernel("a", &[]), kernel("b", &[])]), "a");
    assert_eq!(suite([kernel("a", &["x"]), kernel("b", &[])]), "b");
}

#[test]
fn only_packages_of_kernels_that_guests_boot_are_looked_at() {
    for name in ["linux-image-6.1.0-50-amd64", "linux-base-7.3.4+deb13-amd64"] {
        assert!(is_of_kernel(name), "{name}");
    }
    for name in [
        "linux-image-amd64",
        "linux-image-6.1.0-50-rt-amd64",
        "linux-image-6.1.0-50-cloud-amd64",
        "linux-image-6.1.0-50-amd64-dbg",
        "linux-binary-unsigned-7.3.4+deb13-amd64",
    ] {
        assert!(!is_of_kernel(name), "{name}");
    }
}
