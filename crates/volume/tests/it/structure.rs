//! The core does no I/O: its imports are read.

use std::path::Path;

#[test]
fn the_core_knows_no_file_socket_thread_or_clock() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/core");
    let mut files = 0;
    for entry in std::fs::read_dir(core).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        files += 1;
        for word in [
            "std::fs",
            "std::net",
            "std::os",
            "std::io",
            "std::thread",
            "std::time",
            "std::process",
            "std::env",
            "std::sync::Mutex",
            "std::sync::mpsc",
            "std::sync::atomic",
            "sys::",
            "rustix",
            "libc",
            "crate::device",
            "crate::start",
            "crate::check",
            "crate::recover",
            "crate::memory",
        ] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
    assert!(files > 15, "the core was not found");
}
