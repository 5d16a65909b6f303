//! Advice for a refusal by the kernel.

/// Returns advice for a denied permission; for root it is different, since root is refused for other reasons.
pub fn help() -> &'static str {
    help_for(rustix::process::geteuid().is_root())
}

fn help_for(root: bool) -> &'static str {
    if root {
        "name another one: this is refused even to root (lsattr shows whether it is immutable, findmnt how it is mounted)"
    } else {
        "run as root, or name one that you own"
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn root_is_not_told_to_run_as_root() {
        assert!(!super::help_for(true).contains("run as root"));
        assert!(super::help_for(false).contains("run as root"));
    }
}
