//! A striped volume as a layer: its settings, and its implementation of [`Layer`].

use std::collections::BTreeMap;

use toml::Table;

use super::names::NAME;
use super::parsers::{STATUS, TABLE};
use crate::key::Values::Size;
use crate::key::{Key, keys};
use crate::layer::{Layer, Offer, Place, RaisePlan, Restart};
use crate::lvm::{self, EXTENT};
use crate::members::{MemberSet, SIZE, VOLUME, power_of_two};
use crate::probe::{NamedDevice, Probe, Source};
use crate::read_back::read_back;
use crate::settings::{SettingError, Settings, size_text};
use crate::step::Step;

pub(super) const KEYS: &[Key] = keys! {
    SIZE;
    "chunk_size", Size(64 << 10, ["a power of two from 4k to 4M", "\"256k\""]),
        "Bytes that lie on one member before the next one's turn; an I/O that crosses this boundary is split.";
};

/// The settings of a striped volume.
pub(super) struct Setup {
    size: Option<u64>,
    chunk_size: u64,
}

impl Setup {
    pub(super) fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let size = s.size("size")?;
        lvm::at_least_an_extent(NAME, "size", size)?;
        let chunk = s.bytes("chunk_size")?;
        let chunk_size = power_of_two(NAME, "chunk_size", chunk, (4 << 10, EXTENT))?;
        Ok(Self { size, chunk_size })
    }
}

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        let size = self.size.map_or_else(|| "all".to_owned(), size_text);
        [("size", size), ("chunk_size", size_text(self.chunk_size))]
            .map(|(key, value)| (key.to_owned(), value))
            .into()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        let members = MemberSet::of(at);
        let bytes = members.volume_bytes(NAME, self.size, members.count(), 0)?;
        let group = members.group();
        let (stripes, chunk) = (members.count().to_string(), format!("{}b", self.chunk_size));
        let [how, size] = lvm::size_arguments(Some(bytes));
        let shape = [
            "--type",
            "striped",
            "--stripes",
            &stripes,
            "--stripesize",
            &chunk,
            &how,
            &size,
            "--name",
            VOLUME,
            &group.name,
        ];
        let mut up = group.up();
        let arguments = [&shape[..], &members.devices()].concat();
        up.push(group.create("make the striped volume", &arguments, VOLUME, &[VOLUME]));
        let (node, device) = (group.node(VOLUME), group.path(VOLUME));
        let wanted = vec![("stripes", stripes.clone()), ("chunk_size", size_text(self.chunk_size))];
        up.extend(read_back(&Source::DmTable { node: node.clone() }, TABLE, wanted));
        let probe = Probe::each_second(at.name, "status", Source::DmStatus { node }, STATUS);
        Ok(RaisePlan {
            up,
            nodes: vec![NamedDevice { name: at.name.to_owned(), path: device.clone() }],
            probes: vec![probe],
            ready: Vec::new(),
            settle: vec![Step::flush(&device)],
            offer: Offer::Block { device, bytes },
            allocate: None,
            memory_bytes: 0,
            computed: Vec::new(),
        })
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(MemberSet::of(at).group().again())
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
        let at = Place { name: "s", run_tag: "0badcafe", inputs: &inputs };
        Setup::read(&text.parse().unwrap())?.raise(&at)
    }

    #[test]
    fn what_cannot_work_names_its_key_its_value_and_a_remedy() {
        let even = [1 << 30; 2];
        for (text, sizes, key, value, remedy) in [
            ("chunk_size = \"96k\"", even, "chunk_size", "96k", "the nearest is \"128k\""),
            ("chunk_size = \"65k\"", even, "chunk_size", "65k", "the nearest is \"64k\""),
            ("chunk_size = 512", even, "chunk_size", "512", "the nearest is \"4k\""),
            ("chunk_size = \"64M\"", even, "chunk_size", "64M", "the nearest is \"4M\""),
            ("size = \"4G\"", even, "size", "4 GiB", "\"2040M\""),
            ("size = 1", even, "size", "1", "4M"),
            ("", [1 << 30, 2 << 30], "size", "1 GiB and 2 GiB", "size = \"2040M\" or less"),
            ("", [1 << 20; 2], "size", "0 B", "larger devices"),
        ] {
            let error = raised(text, &sizes).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
        let smaller = raised("size = \"1G\"", &[1 << 30, 2 << 30]).unwrap();
        assert_eq!(smaller.offer.bytes(), 1 << 30);
    }

    #[test]
    fn it_lies_on_all_members_in_their_order_and_its_chunks_are_looked_for_in_the_table() {
        let raised = raised("chunk_size = \"256k\"", &[1 << 30; 3]).unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        assert!(shown[4].ends_with(
            "--type striped --stripes 3 --stripesize 262144b --size 3208642560b --name volume fathom_0badcafe_s \
             {device.d1} {device.d2} {device.d3}"
        ), "{}", shown[4]);
        assert!(shown[6].starts_with("wait until chunk_size is 256k in dmsetup table"));
        assert_eq!(raised.offer.bytes(), 3 * (1020 << 20));
    }
}
