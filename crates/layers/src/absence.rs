//! Messages by which layers' tools say that an object is not there. The messages of all kinds are searched at once, so that the executor of
//! steps need not know any layer.

use crate::kinds;

/// Tells whether a command of teardown failed because its object is not there: `program` said so in `stderr`.
pub fn is_absent(program: &str, stderr: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let says = |words: &[&str]| words.iter().any(|word| stderr.contains(word));
    kinds()
        .iter()
        .flat_map(|kind| kind.absence)
        .any(|words| words.program == name && says(words.gone) && !says(words.held))
}

#[cfg(test)]
mod tests {
    use super::is_absent;

    #[test]
    fn absent_objects_and_held_ones_are_told_apart() {
        for gone in [
            "  Volume group \"fathom_1_v\" not found\n  Cannot process volume group fathom_1_v",
            "  Failed to find logical volume \"fathom_1_v/pool\"",
            "  No PV found on device /dev/loop0.",
            "Device x not found",
        ] {
            assert!(is_absent("lvm", gone), "{gone}");
            assert!(is_absent("/usr/sbin/lvm", gone), "{gone}");
            assert!(!is_absent("another", gone), "{gone}");
        }
        for held in [
            "  Logical volume fathom_1_v/volume in use.",
            "  PV /dev/loop0 is used by VG fathom_1_v so please use vgreduce first.",
            "  Can't open /dev/loop0 exclusively - not found in lock",
            "",
        ] {
            assert!(!is_absent("lvm", held), "{held}");
        }
    }
}
