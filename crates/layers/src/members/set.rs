//! The devices that a layer joins, by the names of its inputs, and what they must have in common.

use units::Bytes;

use crate::key::Key;
use crate::key::Values::Described;
use crate::kind::{Input, InputKind};
use crate::layer::Place;
use crate::lvm::{EXTENT, Group, round_up, usable};
use crate::settings::{SettingError, size_text};

/// Name of the joined volume in its group.
pub(crate) const VOLUME: &str = "volume";

const fn member(name: &'static str, optional: bool) -> Input {
    let help = "a device of the set, as large as the others";
    Input { name, wants: InputKind::Block, help, optional }
}

/// The inputs; at least two must be there.
pub(crate) const INPUTS: [Input; 8] = [
    member("member1", false),
    member("member2", false),
    member("member3", true),
    member("member4", true),
    member("member5", true),
    member("member6", true),
    member("member7", true),
    member("member8", true),
];

/// The size of the volume as a setting.
pub(crate) const SIZE: Key = Key {
    name: "size",
    values: Described(["all of the members", "a size; lvm rounds it up", "\"64M\""]),
    help: "Size of the volume. Members of different sizes need one.",
};

/// The members of a layer at its place.
pub(crate) struct MemberSet<'a> {
    /// Names of the inputs that are there.
    pub(crate) inputs: Vec<&'a str>,
    at: Place<'a>,
}

impl<'a> MemberSet<'a> {
    /// The members at `at`.
    pub(crate) fn of(at: &Place<'a>) -> Self {
        Self { inputs: at.inputs.keys().map(String::as_str).collect(), at: *at }
    }

    /// The volume group of all members.
    pub(crate) fn group(&self) -> Group {
        Group::of(&self.at, &self.inputs)
    }

    /// Number of members.
    pub(crate) fn count(&self) -> u64 {
        self.inputs.len() as u64
    }

    /// Paths of their devices, in the order of the inputs.
    pub(crate) fn devices(&self) -> Vec<&'a str> {
        self.inputs.iter().map(|input| self.at.block(input).0).collect()
    }

    /// Returns the bytes of the volume; each member holds one of `shares` equal parts of it, and `beside` further bytes.
    ///
    /// # Errors
    /// When the members differ in size and no size is given, or cannot hold the size that is given.
    pub(crate) fn volume_bytes(
        &self,
        layer: &str,
        size: Option<u64>,
        shares: u64,
        beside: u64,
    ) -> Result<u64, SettingError> {
        let sizes = self.inputs.iter().map(|input| self.at.block(input).1);
        let (least, most) =
            sizes.fold((u64::MAX, 0), |(least, most), bytes| (least.min(bytes), most.max(bytes)));
        let all = usable(least).saturating_sub(beside) * shares;
        let help = if all == 0 {
            "take larger devices: lvm counts in 4 MiB".to_owned()
        } else {
            format!("write size = \"{}\" or less, or take other devices", size_text(all))
        };
        let refused =
            |key: &str, message: String| Err(SettingError::new(key, message, help.clone()));
        if size.is_none() && usable(least) != usable(most) {
            let (least, most) = (Bytes(least), Bytes(most));
            return refused(
                "size",
                format!("the members of layer '{layer}' differ in size: {least} and {most}"),
            );
        }
        let unit = EXTENT * shares;
        let wanted = size.map_or(all, |size| round_up(size).div_ceil(unit).saturating_mul(unit));
        if wanted > all || wanted == 0 {
            let wanted = Bytes(size.unwrap_or(wanted));
            return refused(
                "size",
                format!(
                    "size {wanted} of layer '{layer}' does not fit: its members hold {}",
                    Bytes(all)
                ),
            );
        }
        Ok(wanted)
    }
}

/// A size that must be a power of two within a range; the error names the nearest one that is.
pub(crate) fn power_of_two(
    layer: &str,
    key: &str,
    bytes: u64,
    (least, most): (u64, u64),
) -> Result<u64, SettingError> {
    if bytes.is_power_of_two() && (least..=most).contains(&bytes) {
        return Ok(bytes);
    }
    let above = bytes.clamp(least, most).next_power_of_two();
    let nearest = if above - bytes.min(above) > bytes.saturating_sub(above / 2) {
        (above / 2).max(least)
    } else {
        above
    };
    Err(SettingError::new(
        key,
        format!("{key} of layer '{layer}' cannot be {}", size_text(bytes)),
        format!(
            "write a power of two from \"{}\" to \"{}\"; the nearest is \"{}\"",
            size_text(least),
            size_text(most),
            size_text(nearest)
        ),
    ))
}
