//! Reasons of failures: what happened in plain words, and the output of QEMU or the guest's kernel.

/// Marks at which the output of QEMU or of the guest's kernel begins in a reason.
const OTHERS: [&str; 2] = [": QEMU: ", ": Kernel panic"];

/// Splits a reason into what happened and the raw output of QEMU or of the guest's kernel, which few readers want to see first. Without
/// such output the second part is `None`.
pub fn plain_and_raw(reason: &str) -> (&str, Option<&str>) {
    let others = OTHERS.iter().filter_map(|mark| reason.find(mark)).min();
    match others {
        Some(at) => (&reason[..at], Some(reason[at + 2..].trim())),
        None => (reason, None),
    }
}

#[cfg(test)]
mod tests {
    use super::plain_and_raw;

    #[test]
    fn the_words_of_qemu_and_of_a_panic_are_told_from_what_happened() {
        let reason = "/dev/kvm opens, but a probe boot failed: the guest crashed: QEMU: kvm.c:3183: Assertion failed.";
        let (plain, raw) = plain_and_raw(reason);
        assert_eq!(plain, "/dev/kvm opens, but a probe boot failed: the guest crashed");
        assert_eq!(raw, Some("QEMU: kvm.c:3183: Assertion failed."));
        let (plain, raw) = plain_and_raw("the guest crashed: Kernel panic - not syncing");
        assert_eq!((plain, raw), ("the guest crashed", Some("Kernel panic - not syncing")));
        assert_eq!(plain_and_raw("/dev/kvm is missing"), ("/dev/kvm is missing", None));
    }
}
