//! Kinds of disks as data: parameters with their ranges, and figures from data sheets to compare them with.

mod flash;
mod form;
mod hdd;
mod parameter;

pub use form::{ModelKind, Profile, Published, Reach, Shape};
pub use parameter::{Parameter, Quantity};

/// All profiles, the slowest first.
pub fn profiles() -> &'static [Profile] {
    static ALL: std::sync::OnceLock<Vec<Profile>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| {
        let memory = (
            "memory",
            "no model: as fast as the guest can reach the host's memory",
            ModelKind::Memory,
        );
        vec![hdd::hdd(), flash::ssd(), flash::nvme(), Profile::new(memory, &[], &[], &[], &[])]
    })
}

/// The profile of that name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    profiles().iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_the_range_of_its_parameter() {
        for profile in profiles() {
            for (parameter, value) in profile.values() {
                assert!(parameter.allows(value), "{} {}: {value}", profile.name, parameter.name);
            }
        }
    }
}
