//! Packages, by the names that distributions have for them.

/// Packages that Fedora has under another name than Debian.
const FEDORA: &[(&str, &str)] = &[("thin-provisioning-tools", "device-mapper-persistent-data")];

/// Returns how these packages of Debian are installed, there and on Fedora.
pub fn install(packages: &[impl AsRef<str>]) -> String {
    let debian: Vec<&str> = packages.iter().map(AsRef::as_ref).collect();
    let other = |name: &&str| FEDORA.iter().find(|(ours, _)| ours == name).map(|(_, other)| *other);
    let fedora: Vec<&str> = debian.iter().map(|name| other(name).unwrap_or(name)).collect();
    format!("apt-get install {}; on Fedora: dnf install {}", debian.join(" "), fedora.join(" "))
}

#[cfg(test)]
mod tests {
    use super::install;

    #[test]
    fn what_is_missing_is_installed_by_the_names_of_either_distribution() {
        assert_eq!(
            install(&["lvm2", "thin-provisioning-tools"]),
            "apt-get install lvm2 thin-provisioning-tools; on Fedora: dnf install lvm2 device-mapper-persistent-data"
        );
    }
}
