//! A mirror as a layer: its implementation of [`Layer`].

use std::collections::BTreeMap;

use results::model::{Criterion, Requirement};

use super::names::NAME;
use super::parsers::{STATUS, TABLE};
use super::setup::Setup;
use crate::layer::{Layer, Offer, Place, Proof, RaisePlan, Restart};
use crate::lvm::{self, Group};
use crate::members::{MemberSet, VOLUME};
use crate::probe::{NamedDevice, Probe, Source};
use crate::read_back::read_back;
use crate::settings::{SettingError, on_off, size_text};
use crate::step::{Action, Condition, Step};

/// The slowest rate of copying that the wait for a whole member allows for, bytes per second.
const SLOWEST: u64 = 5 << 20;
/// Kernel memory for the map of regions and for I/O that is copied, roughly, bytes.
const MEMORY: u64 = 16 << 20;

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        let mostly = if self.write_mostly.is_empty() {
            "none".to_owned()
        } else {
            self.write_mostly.join(",")
        };
        [
            ("size", self.size.map_or_else(|| "all".to_owned(), size_text)),
            ("region_size", size_text(self.region_size)),
            ("write_mostly", mostly),
            ("sync", on_off(self.sync)),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        self.validate(at)?;
        let members = MemberSet::of(at);
        let bytes = self.bytes(&members)?;
        let group = members.group();
        let mut up = group.up();
        up.push(self.make(&members, &group, bytes));
        // lvm2 changes members only when all of them hold the same.
        if self.sync && !self.write_mostly.is_empty() {
            up.push(alike(&group, bytes));
        }
        let devices = members.inputs.iter().zip(members.devices());
        let mostly = devices.filter(|(input, _)| {
            self.write_mostly.iter().any(|mostly_written| mostly_written == *input)
        });
        up.extend(mostly.map(|(input, device)| {
            let about = format!("read {input} only where no other member can be read");
            group.change(&about, &["--writemostly", device], VOLUME)
        }));
        let (node, device) = (group.node(VOLUME), group.path(VOLUME));
        let mut wanted = self.settings();
        wanted.remove("size");
        let wanted = ["region_size", "write_mostly", "sync"]
            .into_iter()
            .filter_map(|key| Some((key, wanted.remove(key)?)));
        let table = Source::DmTable { node: node.clone() };
        up.extend(read_back(&table, TABLE, wanted.collect()));
        let status = Source::DmStatus { node };
        Ok(RaisePlan {
            up,
            nodes: vec![NamedDevice { name: at.name.to_owned(), path: device.clone() }],
            probes: vec![Probe::each_second(at.name, "status", status, STATUS)],
            ready: vec![alike(&group, bytes)],
            settle: vec![Step::flush(&device)],
            offer: Offer::Block { device, bytes },
            allocate: None,
            memory_bytes: MEMORY,
            computed: Vec::new(),
        })
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        let members = MemberSet::of(at);
        let group = members.group();
        let bytes = self.bytes(&members).ok()?;
        let mut again = group.again();
        again.up.push(alike(&group, bytes));
        Some(again)
    }

    fn proof(&self, at: &Place, _state: &str) -> Proof {
        let criterion = Criterion {
            layer: at.name.to_owned(),
            metric: "synced_percent".to_owned(),
            must: Requirement::BeAtLeast(100.0),
        };
        Proof { criteria: vec![criterion], round: None }
    }
}

/// The wait until all members hold the same.
fn alike(group: &Group, bytes: u64) -> Step {
    Step {
        about: "wait until all members hold the same".into(),
        action: Action::Wait {
            source: Source::DmStatus { node: group.node(VOLUME) },
            parser: STATUS.into(),
            until: Condition::Text { field: "in_sync".into(), is: "yes".into() },
            every_ms: 200,
        },
        undo: Vec::new(),
        deadline_s: 300 + bytes / SLOWEST,
    }
}

impl Setup {
    /// The step that makes the mirror.
    fn make(&self, members: &MemberSet, group: &Group, bytes: u64) -> Step {
        let mirrors = (members.count() - 1).to_string();
        let region = format!("{}b", self.region_size);
        let [how, size] = lvm::size_arguments(Some(bytes));
        let shape = ["--type", NAME, "--mirrors", &mirrors, "--regionsize", &region, &how, &size];
        let sync: &[&str] = if self.sync { &[] } else { &["--nosync"] };
        let named = ["--name", VOLUME, &group.name];
        let arguments = [&shape[..], sync, &named, &members.devices()].concat();
        let parts = (0..members.count())
            .flat_map(|at| ["rimage", "rmeta"].map(|part| format!("{VOLUME}_{part}_{at}")));
        let nodes: Vec<String> = [VOLUME.to_owned()].into_iter().chain(parts).collect();
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        group.create("make the mirror", &arguments, VOLUME, &nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raised(text: &str, sizes: &[u64]) -> Result<RaisePlan, SettingError> {
        let offer = |(n, bytes): (usize, &u64)| {
            let device = format!("{{device.d{n}}}");
            (format!("member{n}"), Offer::Block { device, bytes: *bytes })
        };
        let inputs = (1..).zip(sizes).map(offer).collect();
        let at = Place { name: "m", run_tag: "0badcafe", inputs: &inputs };
        Setup::read(&text.parse().unwrap())?.raise(&at)
    }

    #[test]
    fn what_cannot_work_names_its_key_its_value_and_a_remedy() {
        let even = [1 << 30; 2];
        for (text, sizes, key, value, remedy) in [
            ("region_size = \"3M\"", even, "region_size", "3M", "the nearest is \"4M\""),
            ("region_size = \"4k\"", [1 << 40; 2], "region_size", "4k", "\"512k\" or more"),
            ("write_mostly = \"member3\"", even, "write_mostly", "member3", "member1, member2"),
            ("write_mostly = \"two\"", even, "write_mostly", "two", "inputs"),
            ("write_mostly = \"member1,member2\"", even, "write_mostly", "every", "member1"),
            ("size = \"1G\"", even, "size", "1 GiB", "\"1016M\""),
            ("", [1 << 30, 2 << 30], "size", "1 GiB and 2 GiB", "size = \"1016M\" or less"),
        ] {
            let error = raised(text, &sizes).err().unwrap_or_else(|| panic!("{text} is taken"));
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
    }

    #[test]
    fn it_is_made_as_asked_and_measured_when_its_members_are_alike() {
        let text = "region_size = \"512k\"\nwrite_mostly = \"member2\"\nsync = false";
        let raised = raised(text, &[1 << 30; 3]).unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        assert!(shown[4].ends_with(
            "--type raid1 --mirrors 2 --regionsize 524288b --size 1065353216b --nosync --name volume \
             fathom_0badcafe_m {device.d1} {device.d2} {device.d3}"
        ), "{}", shown[4]);
        assert!(shown[5].contains("--writemostly {device.d2} fathom_0badcafe_m/volume"));
        assert!(shown[7].starts_with("wait until write_mostly is member2"), "{}", shown[7]);
        assert!(raised.ready[0].action.show().starts_with("wait until in_sync is yes"));
        let undo = raised.up[4].undo[1].show();
        assert!(undo.contains("m-volume_rimage_0") && undo.contains("m-volume_rmeta_2"), "{undo}");
    }

    #[test]
    fn a_member_is_read_last_only_once_all_hold_the_same() {
        let raised = raised("write_mostly = \"member2\"", &[1 << 30; 2]).unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        let change = shown.iter().position(|step| step.contains("--writemostly")).unwrap();
        assert!(shown[change - 1].starts_with("wait until in_sync is yes"), "{shown:?}");
    }
}
