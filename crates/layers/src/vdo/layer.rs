//! A VDO volume as a layer: reading its settings, and its implementation of [`Layer`].

use std::collections::BTreeMap;

use toml::Table;

use super::keys::KEYS;
use super::names::NAME;
use super::setup::{Setup, Via};
use super::volume::Volume;
use super::{actions, fits, geometry, raise, states, twin, validity};
use crate::layer::{ActionPlan, ActionRequest, Layer, Place, Proof, RaisePlan, Restart};
use crate::settings::{SettingError, Settings, on_off, size_text};
use crate::step::Step;
use crate::twin::Twin;

impl Setup {
    /// Reads the settings and checks what can be checked without knowing the device.
    pub(super) fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let via = Via::of(&s.word("via")?);
        let setup = Self {
            via,
            tail_size: s.size("tail_size")?,
            logical_size: s.size("logical_size")?,
            physical_size: s.size("physical_size")?,
            block_map_cache: s.bytes("block_map_cache")?,
            dedupe: s.switch("dedupe")?,
            compression: s.switch("compression")?,
            ack_threads: s.number("ack_threads")?,
            bio_threads: s.number("bio_threads")?,
            bio_rotation: s.number("bio_rotation")?,
            cpu_threads: s.number("cpu_threads")?,
            hash_zone_threads: s.number("hash_zone_threads")?,
            logical_threads: s.number("logical_threads")?,
            physical_threads: s.number("physical_threads")?,
            max_discard: s.bytes("max_discard")?,
            slab_size: s.bytes("slab_size")?,
            index_memory: s.bytes("index_memory")?,
            sparse_index: s.switch("sparse_index")?,
            minimum_io_size: s.number("minimum_io_size")?,
            block_map_period: s.number("block_map_period")?,
        };
        validity::alone(&setup)?;
        Ok(setup)
    }
}

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        let via = match self.via {
            Via::Lvm => "lvm",
            Via::Table => "table",
        };
        let entries = [
            ("via", via.to_owned()),
            ("tail_size", size_text(self.tail_size.unwrap_or(geometry::TAIL))),
            ("logical_size", self.logical_size.map_or("as the pool".into(), size_text)),
            ("physical_size", self.physical_size.map_or("all".into(), size_text)),
            ("block_map_cache", size_text(self.block_map_cache)),
            ("dedupe", on_off(self.dedupe)),
            ("compression", on_off(self.compression)),
            ("ack_threads", self.ack_threads.to_string()),
            ("bio_threads", self.bio_threads.to_string()),
            ("bio_rotation", self.bio_rotation.to_string()),
            ("cpu_threads", self.cpu_threads.to_string()),
            ("hash_zone_threads", self.hash_zone_threads.to_string()),
            ("logical_threads", self.logical_threads.to_string()),
            ("physical_threads", self.physical_threads.to_string()),
            ("max_discard", size_text(self.max_discard)),
            ("slab_size", size_text(self.slab_size)),
            ("index_memory", size_text(self.index_memory)),
            ("sparse_index", on_off(self.sparse_index)),
            ("minimum_io_size", self.minimum_io_size.to_string()),
            ("block_map_period", self.block_map_period.to_string()),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        fits::on_devices(self, at)?;
        Ok(raise::raise(&Volume { setup: self, at }))
    }

    fn change(&self, at: &Place, key: &str) -> Option<Vec<Step>> {
        Volume { setup: self, at }.change(key)
    }

    fn changeable(&self) -> &'static [&'static str] {
        match self.via {
            Via::Lvm => &["dedupe", "compression"],
            Via::Table => &["dedupe", "compression", "max_discard"],
        }
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(actions::restart_all(&Volume { setup: self, at }))
    }

    fn act(&self, at: &Place, request: &ActionRequest) -> Result<ActionPlan, SettingError> {
        actions::act(self, at, request)
    }

    fn proof(&self, at: &Place, state: &str) -> Proof {
        states::proof(self, at, state)
    }

    fn reachable(&self, at: &Place, state: &str, usual: bool) -> Result<(), SettingError> {
        states::reachable(self, at, state, usual)
    }

    fn twin(&self, at: &Place) -> Option<Box<dyn Twin>> {
        Some(Box::new(twin::VdoTwin::new(self.clone(), at)))
    }
}
