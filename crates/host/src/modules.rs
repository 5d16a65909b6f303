//! Modules of the running kernel.

use std::path::Path;

/// Tells whether the running kernel has a module, loaded or not, or built in.
pub(crate) fn module(name: &str) -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let listed = |list: &str| {
        let text = std::fs::read_to_string(format!("/lib/modules/{release}/{list}"));
        let file = format!("/{name}.ko");
        text.unwrap_or_default()
            .lines()
            .any(|line| line.split(':').next().is_some_and(|path| path.contains(&file)))
    };
    loaded(name) || listed("modules.dep") || listed("modules.builtin")
}

/// Tells whether a module is loaded; a file system may be built in and have no module at all.
pub(crate) fn loaded(name: &str) -> bool {
    let filesystems = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    Path::new(&format!("/sys/module/{}", name.replace('-', "_"))).exists()
        || filesystems.lines().any(|line| line.split_whitespace().last() == Some(name))
}
