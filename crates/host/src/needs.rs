//! What a plan needs of this machine, against what the machine has.

use crate::capabilities::{module, program};

/// The kernel modules and programs among these that this machine does not have, in words.
pub fn missing(modules: &[String], tools: &[String]) -> Vec<String> {
    let modules = modules.iter().filter(|m| !module(m)).map(|m| format!("kernel module {m}"));
    let tools = tools.iter().filter(|t| program(t).is_none()).map(|t| format!("program {t}"));
    modules.chain(tools).collect()
}

/// Packages that Fedora has under another name than Debian.
const FEDORA: &[(&str, &str)] = &[("thin-provisioning-tools", "device-mapper-persistent-data")];

/// Returns how these packages of Debian are installed, there and on Fedora.
pub fn install(packages: &[impl AsRef<str>]) -> String {
    let debian: Vec<&str> = packages.iter().map(AsRef::as_ref).collect();
    let other = |name: &&str| FEDORA.iter().find(|(own, _)| own == name).map(|(_, other)| *other);
    let fedora: Vec<&str> = debian.iter().map(|name| other(name).unwrap_or(name)).collect();
    format!("apt-get install {}; on Fedora: dnf install {}", debian.join(" "), fedora.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{install, missing};

    #[test]
    fn what_is_missing_is_installed_by_the_names_of_either_distribution() {
        assert_eq!(
            install(&["lvm2", "thin-provisioning-tools"]),
            "apt-get install lvm2 thin-provisioning-tools; on Fedora: dnf install lvm2 device-mapper-persistent-data"
        );
    }

    #[test]
    fn what_nobody_has_is_named_and_what_everybody_has_is_not() {
        let named = missing(&["no-such-module".into()], &["sh".into(), "no-such-program".into()]);
        assert_eq!(named, ["kernel module no-such-module", "program no-such-program"]);
        assert_eq!(missing(&["proc".into()], &[]), [""; 0], "built into every kernel");
    }
}
