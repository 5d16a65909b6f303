//! `linear`: a plain logical volume, which passes every block through: the base of comparisons.

mod twin;

use std::collections::BTreeMap;

use toml::Table;
use units::Bytes;

use crate::key::Values::Described;
use crate::key::{Key, keys};
use crate::kind::{Kind, LayerNeeds};
use crate::layer::{Layer, Offer, Place, RaisePlan, Restart};
use crate::lvm::{self, Group, GroupTwin};
use crate::probe::NamedDevice;
use crate::settings::{SettingError, Settings, size_text};
use crate::standing::{Recognised, Standing};
use crate::step::Step;
use crate::twin::Twin;

/// Name of the logical volume in its group.
const VOLUME: &str = "volume";

const KEYS: &[Key] = keys! {
    "size", Described(["all of the device", "a size; lvm rounds it up to a multiple of 4 MiB", "\"1G\""]), "Size of the volume.";
};

pub(crate) const KIND: Kind = Kind {
    keys: KEYS,
    absence: lvm::ABSENCE,
    objects: lvm::OBJECTS,
    facts: &[lvm::VERSION],
    needs: LayerNeeds {
        packages: &["lvm2"],
        modules: &["dm-mod"],
        tools: &["lvm", "dmsetup"],
        guest_files: crate::lvm::GUEST_FILES,
        ..LayerNeeds::NONE
    },
    standing: &[Standing::new(Recognised::Target("linear"))],
    ..Kind::new(
        "linear",
        "A plain logical volume: passes every block through.",
        include_str!("manual.md"),
        |table| Ok(Box::new(Linear::read(table)?)),
    )
};

/// A plain logical volume.
struct Linear {
    /// Size in bytes; `None` takes the whole device.
    size: Option<u64>,
}

impl Linear {
    fn read(table: &Table) -> Result<Self, SettingError> {
        let size = Settings::new(KIND.name, table, KEYS)?.size("size")?;
        lvm::at_least_an_extent(KIND.name, "size", size)?;
        Ok(Self { size })
    }

    fn bytes(&self, below_bytes: u64) -> u64 {
        self.size.map_or_else(|| lvm::usable(below_bytes), lvm::round_up)
    }

    fn validate(&self, below_bytes: u64) -> Result<(), SettingError> {
        let (wanted, usable) = (self.bytes(below_bytes), lvm::usable(below_bytes));
        if wanted <= usable && wanted > 0 {
            return Ok(());
        }
        Err(SettingError::new(
            "size",
            format!(
                "size {} of layer 'linear' does not fit on a device of {}: lvm can use {} of it",
                Bytes(wanted),
                Bytes(below_bytes),
                Bytes(usable)
            ),
            format!("write size = \"{}\" or less, or take a larger device", size_text(usable)),
        ))
    }
}

impl Layer for Linear {
    fn settings(&self) -> BTreeMap<String, String> {
        let size = self.size.map_or("all".to_owned(), size_text);
        BTreeMap::from([("size".to_owned(), size)])
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        let (_, below_bytes) = at.block("data");
        self.validate(below_bytes)?;
        let group = Group::of(at, &["data"]);
        let bytes = self.bytes(below_bytes);
        let device = group.path(VOLUME);
        let [how, size] = lvm::size_arguments(self.size.map(lvm::round_up));
        let mut up = group.up();
        up.push(group.create(
            "make the logical volume",
            &["--type", "linear", &how, &size, "--name", VOLUME, &group.name],
            VOLUME,
            &[VOLUME],
        ));
        Ok(RaisePlan {
            up,
            nodes: vec![NamedDevice { name: at.name.to_owned(), path: device.clone() }],
            probes: Vec::new(),
            ready: Vec::new(),
            settle: vec![Step::flush(&device)],
            offer: Offer::Block { device, bytes },
            allocate: None,
            memory_bytes: 0,
            computed: Vec::new(),
        })
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(Group::of(at, &["data"]).again())
    }

    fn twin(&self, at: &Place) -> Option<Box<dyn Twin>> {
        Some(Box::new(twin::LinearTwin::new(GroupTwin::new(Group::of(at, &["data"]), &[VOLUME]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;
    use crate::step::Action;

    fn raised(text: &str, bytes: u64) -> Result<RaisePlan, SettingError> {
        let inputs = on_device("{device.data}", bytes);
        let at = Place { name: "plain", run_tag: "0badcafe", inputs: &inputs };
        (KIND.parse)(&text.parse().unwrap()).unwrap().raise(&at)
    }

    #[test]
    fn a_volume_larger_than_its_device_is_refused_with_the_largest_that_fits() {
        let error = raised("size = \"8G\"", 7 << 30).unwrap_err();
        assert_eq!(error.key, "size");
        assert!(error.message.contains("8 GiB") && error.help.contains("7164M"), "{error:?}");
        assert!(raised("", 7 << 30).is_ok());
        assert!(raised("", 1 << 20).is_err());
        for small in ["size = 0", "size = \"100k\""] {
            let error = (KIND.parse)(&small.parse().unwrap()).err().unwrap();
            assert!(error.help.contains("at least 4M"), "{error:?}");
        }
    }

    #[test]
    fn every_step_that_makes_something_says_how_to_remove_it() {
        let raised = raised("", 7 << 30).unwrap();
        assert!(raised.up.iter().all(|step| !step.undo.is_empty()));
        assert_eq!(raised.offer.path(), "/dev/mapper/fathom_0badcafe_plain-volume");
        let shown: Vec<_> = raised.up.iter().map(|s| s.action.show()).collect();
        let pvcreate = "lvm pvcreate --yes --norestorefile --uuid 0badca-fe66-6d80-72";
        assert!(shown[0].starts_with(pvcreate) && shown[0].ends_with(" {device.data}"));
        assert!(shown[2].contains("--type linear --extents 100%FREE"), "{}", shown[2]);
        assert!(matches!(raised.settle[0].action, Action::Flush { .. }));
    }
}
