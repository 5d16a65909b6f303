//! A cached volume as a layer: its implementation of [`Layer`].

use std::collections::BTreeMap;

use super::raise;
use super::setup::{Setup, THRESHOLD};
use crate::caching;
use crate::kind::{State, StateMethod};
use crate::layer::{ActionPlan, ActionRequest, CacheRoom, Layer, Place, Proof, RaisePlan, Restart};
use crate::lvm::Group;
use crate::lvm::tier::{INPUTS, ORIGIN, VOLUME};
use crate::lvm::tier_actions;
use crate::settings::{SettingError, size_text};
use crate::step::Step;

/// Settings that change while the volume runs.
const CHANGEABLE: &[&str] = &["mode", "policy", THRESHOLD];

/// States that it can be brought to.
pub(super) const STATES: &[State] = &caching::states(StateMethod::Action("empty"));
/// Length of a round of warming, seconds; longer than smq's period of 60 s: after freeing half of a full cache it moves nothing until the next one.
const PERIOD_S: u64 = 70;

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        let chunk = self.chunk_size.map_or_else(|| "usual".to_owned(), size_text);
        let own_settings = [
            ("via", self.via().to_owned()),
            ("chunk_size", chunk),
            ("mode", self.mode.clone()),
            ("policy", self.policy.clone()),
            (
                THRESHOLD,
                self.migration_threshold.map_or_else(|| "usual".to_owned(), |n| n.to_string()),
            ),
        ];
        let mut settings = self.sizes.settings();
        settings.extend(own_settings.map(|(key, value)| (key.to_owned(), value)));
        settings
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        self.validate(at)?;
        Ok(raise::raise(self, at))
    }

    fn change(&self, at: &Place, key: &str) -> Option<Vec<Step>> {
        let field = CHANGEABLE.iter().find(|known| **known == key)?;
        let group = Group::of(at, &INPUTS.map(|input| input.name));
        let [option, value] = raise::argument(self, at, field);
        let about = format!("change {field} of the cache");
        let change = group.change(&about, &[&option, &value], VOLUME);
        let as_set = || self.settings().remove(*field).unwrap_or_default();
        let wanted = if *field == THRESHOLD { self.threshold(at).to_string() } else { as_set() };
        let wanted = vec![(*field, wanted)];
        Some([change].into_iter().chain(raise::looks(&group, wanted)).collect())
    }

    fn changeable(&self) -> &'static [&'static str] {
        CHANGEABLE
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(Group::of(at, &INPUTS.map(|input| input.name)).again())
    }

    fn proof(&self, at: &Place, state: &str) -> Proof {
        caching::proof(at, state, PERIOD_S)
    }

    fn holds(&self, at: &Place) -> Option<CacheRoom> {
        Some(CacheRoom {
            origin: ORIGIN,
            bytes: self.data_bytes(at),
            chunk_bytes: self.chunk(at),
            finest_bytes: Some(self.finest_chunk(at)),
        })
    }

    fn act(&self, at: &Place, request: &ActionRequest) -> Result<ActionPlan, SettingError> {
        let group = Group::of(at, &INPUTS.map(|input| input.name));
        Ok(tier_actions::act(&group, request.action, || raise::attached(self, at, &group)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Offer;
    use crate::lvm::tier::CACHE;

    const GIB: u64 = 1 << 30;

    fn check(text: &str) -> Result<RaisePlan, SettingError> {
        check_on(text, GIB)
    }

    #[test]
    fn the_cleaner_is_asked_of_a_pool_and_a_cache_that_is_attached_again_is_looked_at() {
        let text = "policy = \"cleaner\"\nvia = \"cachepool\"";
        let raised = check(text).unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        assert!(shown.iter().any(|step| step.starts_with("wait until policy is cleaner")));
        let (keys, before) = (toml::Table::new(), toml::Table::new());
        let request = ActionRequest { action: "attach", keys: &keys, before: &before };
        let inputs = inputs(GIB);
        let steps = Setup::read(&text.parse().unwrap()).unwrap().act(&place(&inputs), &request);
        let again: Vec<_> = steps.unwrap().steps.iter().map(|step| step.action.show()).collect();
        assert!(again.len() == 4 && shown.join("\n").contains(&again.join("\n")), "{again:?}");
        let request = ActionRequest { action: "empty", ..request };
        let empty = Setup::read(&text.parse().unwrap()).unwrap().act(&place(&inputs), &request);
        let empty: Vec<_> = empty.unwrap().steps.iter().map(|step| step.action.show()).collect();
        assert!(empty[0].starts_with("lvm lvconvert --yes --splitcache "), "{empty:?}");
        assert_eq!(empty[1..], again);
    }

    fn inputs(cache: u64) -> BTreeMap<String, Offer> {
        let block = |device: &str, bytes| Offer::Block { device: device.into(), bytes };
        [
            (ORIGIN.to_owned(), block("{device.slow}", 2 * cache.max(GIB))),
            (CACHE.to_owned(), block("{device.fast}", cache)),
        ]
        .into()
    }

    fn place(inputs: &BTreeMap<String, Offer>) -> Place<'_> {
        Place { name: "cache", run_tag: "0badcafe", inputs }
    }

    fn check_on(text: &str, cache: u64) -> Result<RaisePlan, SettingError> {
        let inputs = inputs(cache);
        Setup::read(&text.parse().unwrap())?.raise(&place(&inputs))
    }

    #[test]
    fn each_rule_names_its_key_its_value_and_a_remedy() {
        for (text, key, value, remedy) in [
            ("chunk_size = \"48k\"", "chunk_size", "48k", "the nearest is \"64k\""),
            ("chunk_size = \"100k\"", "chunk_size", "100k", "the nearest is \"96k\""),
            ("chunk_size = \"1k\"", "chunk_size", "1k", "the nearest is \"32k\""),
            ("chunk_size = \"3G\"", "chunk_size", "3G", "the nearest is \"1G\""),
            ("mode = \"fast\"", "mode", "fast", "writeback"),
            ("size = \"3G\"", "size", "3 GiB", "2044M"),
            ("cache_size = \"2G\"", "cache_size", "2 GiB", "1020M"),
            ("cache_size = \"4M\"", "cache_size", "4 MiB", "16M"),
            ("size = \"512M\"", "cache_size", "1020 MiB", "cache_size = \"512M\" or less"),
            (
                "cache_size = \"64M\"\nchunk_size = \"128M\"",
                "chunk_size",
                "56 MiB",
                "chunk_size = \"56M\"",
            ),
            ("policy = \"cleaner\"", "policy", "cachevol", "via = \"cachepool\""),
            (
                "chunk_size = \"1M\"\nmigration_threshold = 2048",
                "migration_threshold",
                "eight chunks of 1 MiB",
                "migration_threshold = 16384",
            ),
            (
                "policy = \"cleaner\"\nvia = \"cachepool\"\nmode = \"writeback\"",
                "policy",
                "writeback",
                "mode = \"writethrough\"",
            ),
        ] {
            let error = check(text).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
    }

    #[test]
    fn a_cache_of_too_many_chunks_is_told_the_smallest_that_fits() {
        let error = check_on("chunk_size = \"32k\"", 100 * GIB).unwrap_err();
        assert!(error.help.contains("chunk_size = \"128k\" or more"), "{error:?}");
        assert!(check_on("chunk_size = \"128k\"", 100 * GIB).is_ok());
        assert!(check_on("chunk_size = \"96k\"", 100 * GIB).is_err());
    }

    #[test]
    fn a_threshold_that_nobody_wrote_is_what_lvm_makes_of_it_for_large_chunks() {
        for (text, threshold) in [
            ("", 2048),
            ("chunk_size = \"128k\"", 2048),
            ("chunk_size = \"256k\"", 4096),
            ("chunk_size = \"1M\"", 16_384),
            ("chunk_size = \"1M\"\nmigration_threshold = 20000", 20_000),
        ] {
            let shown: Vec<_> =
                check(text).unwrap().up.iter().map(|step| step.action.show()).collect();
            let shown = shown.join("\n");
            assert!(shown.contains(&format!("migration_threshold={threshold}")), "{text}: {shown}");
            assert!(
                shown.contains(&format!("migration_threshold is {threshold}")),
                "{text}: {shown}"
            );
        }
    }

    #[test]
    fn it_holds_what_its_metadata_leave_in_its_own_chunks() {
        let holds = |text: &str| {
            let inputs = inputs(68 << 20);
            Setup::read(&text.parse().unwrap()).unwrap().holds(&place(&inputs)).unwrap()
        };
        let usual = holds("");
        assert_eq!((usual.bytes, usual.chunk_bytes), (56 << 20, 64 << 10));
        assert_eq!((usual.finest_bytes, usual.origin), (Some(32 << 10), ORIGIN));
        assert_eq!(holds("chunk_size = \"256k\"").chunk_bytes, 256 << 10);
    }

    #[test]
    fn the_cache_stands_on_its_own_device_and_is_attached_to_the_volume() {
        let raised = check("cache_size = \"64M\"\nmode = \"writeback\"").unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        let pvcreate = "lvm pvcreate --yes --norestorefile --uuid ";
        assert!(shown[0].starts_with(pvcreate) && shown[0].ends_with(" {device.slow}"));
        assert!(shown[1].starts_with(pvcreate) && shown[1].ends_with(" {device.fast}"));
        // Two volumes of one id would be one to lvm.
        assert_ne!(shown[0].split(' ').nth(5), shown[1].split(' ').nth(5));
        assert!(shown[2].ends_with("fathom_0badcafe_cache {device.slow} {device.fast}"));
        assert!(shown[3].contains("--name main") && shown[3].ends_with("{device.slow}"));
        assert!(shown[4].contains("--size 67108864b") && shown[4].ends_with("{device.fast}"));
        assert!(shown[5].contains("--type cache --cachevol fast --cachemode writeback"));
        assert_eq!(raised.offer.path(), "/dev/mapper/fathom_0badcafe_cache-main");
    }
}
