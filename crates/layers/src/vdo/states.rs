//! The states of a volume that its speed depends on, with the way to reach and to prove each.

use results::model::{Criterion, Requirement};
use units::Bytes;

use super::geometry;
use super::names::DATA;
use super::setup::Setup;
use crate::kind::{State, StateMethod};
use crate::layer::{Place, Proof, Round};
use crate::lvm;
use crate::machine::RUN_BYTES;
use crate::settings::{SettingError, size_text};

/// Percentage of physical space in use above which new blocks go into freed gaps.
const HALF: f64 = 50.0;
/// Percent of the physical space that counts as full.
const FULL: f64 = 99.0;

/// Number of rounds that together write as many blocks as there are addresses. Shorter rounds would miss changes that take minutes.
const ROUNDS_OF_ALL: f64 = 4.0;
/// Percent by which the space in use may change in such a round: 1 % in all of them together. On a nearly full volume speed depends on the free
/// space, which changes by a much larger percentage.
const STILL_FILLS: f64 = 0.25;

pub(super) const STATES: &[State] = &[
    State {
        name: "fresh",
        about: "Nothing has been written: no data blocks, and only the metadata of an empty volume.",
        by: StateMethod::Nothing,
    },
    State {
        name: "allocated",
        about: "Every page of the block map is there, as after long use, and no data.",
        by: StateMethod::Allocate,
    },
    State {
        name: "steady",
        about: "More than half full of data that neither dedupes nor compresses, written at random until slabs are used again, and the space in use and the length of runs of writes below no longer change.",
        by: StateMethod::Load {
            metric: "physical_used_percent",
            at_least: HALF,
            load: "ops = { randwrite = 100 }\ndepth = 64",
        },
    },
    State {
        name: "full",
        about: "No physical block is free: writes of new data fail (ENOSPC).",
        by: StateMethod::Load {
            metric: "physical_used_percent",
            at_least: FULL,
            load: "ops = { write = 100 }\nblock_size = \"1M\"\ndepth = 8\nmax_errors = 1000000000",
        },
    },
    State {
        name: "index-lost",
        about: "The deduplication index is empty, as after it was lost; data stays.",
        by: StateMethod::Action("index-create"),
    },
    State {
        name: "discarded",
        about: "All of the volume has been discarded: data blocks are free, pages of the block map stay.",
        by: StateMethod::Discard,
    },
];

/// Returns the proof of a state of a volume.
pub(super) fn proof(setup: &Setup, at: &Place, state: &str) -> Proof {
    let addresses = setup.volume_bytes(at) / geometry::BLOCK;
    let round = (state == "steady").then(|| Round::Growth {
        metric: "bios_in_write".into(),
        by: (addresses as f64 / ROUNDS_OF_ALL).ceil(),
    });
    Proof { criteria: criteria(setup, at, state), round }
}

/// Returns the criteria that a volume in a state must meet.
fn criteria(setup: &Setup, at: &Place, state: &str) -> Vec<Criterion> {
    let criterion = |metric: &str, must| Criterion {
        layer: at.name.to_owned(),
        metric: metric.to_owned(),
        must,
    };
    let no_data = || criterion("physical_used_percent", Requirement::BeAtMost(0.0));
    let (pages, empty) = (setup.map_pages(at), setup.empty_overhead(at));
    match state {
        "fresh" => {
            vec![no_data(), criterion("metadata_blocks", Requirement::BeAtMost(empty as f64))]
        }
        "allocated" => {
            vec![criterion("metadata_blocks", Requirement::BeAtLeast((empty + pages) as f64))]
        }
        "steady" => vec![
            criterion("physical_used_percent", Requirement::BeAtLeast(HALF)),
            criterion("slabs_reopened", Requirement::Grow),
            criterion("physical_used_percent", Requirement::StayWithin(STILL_FILLS)),
            Criterion {
                layer: at.block(DATA).0.to_owned(),
                metric: RUN_BYTES.into(),
                must: Requirement::StayWithin(10.0),
            },
        ],
        "full" => vec![
            criterion("physical_used_percent", Requirement::BeAtLeast(FULL)),
            criterion("no_space_errors", Requirement::BeAtLeast(1.0)),
        ],
        "index-lost" => vec![criterion("index_entries", Requirement::BeAtMost(0.0))],
        "discarded" => vec![no_data()],
        _ => Vec::new(),
    }
}

/// Refuses a state to which no load can bring the volume: it has too few addresses to fill what is to be filled, or so many that the `usual` load
/// of unique data fills its pool first.
pub(super) fn reachable(
    setup: &Setup,
    at: &Place,
    state: &str,
    usual: bool,
) -> Result<(), SettingError> {
    let blocks = setup.volume_bytes(at) / geometry::BLOCK;
    let (pages, room) = (setup.map_pages(at), setup.data_blocks(at));
    let for_data = room.saturating_sub(pages);
    let refuse = |what: &str, help: String| {
        let message = format!(
            "a volume of {} {what}: its pool has {} for data",
            size_text(setup.volume_bytes(at)),
            Bytes(for_data * geometry::BLOCK)
        );
        Err(SettingError::new("logical_size", message, help))
    };
    // Whole extents of lvm, so that neither lvm nor a table rounds them.
    let least = |blocks: u64| size_text(lvm::round_up(blocks * geometry::BLOCK));
    // A write takes a block before the one that it replaces is free, and as many are in flight.
    let most = for_data.saturating_sub(geometry::IN_FLIGHT);
    // A volume of that size has at most as many pages as one that takes all the room.
    let all = room * geometry::BLOCK;
    let all_pages = geometry::leaves(all) + geometry::interior(all);
    let named = room.saturating_sub(all_pages + geometry::IN_FLIGHT) * geometry::BLOCK;
    let at_most = size_text(named / lvm::EXTENT * lvm::EXTENT);
    match state {
        "full" if blocks + pages <= room => {
            let help = format!("write logical_size = \"{}\" or more", least(room + 1));
            refuse("cannot fill its pool", help)
        }
        "steady" if (blocks as f64) < for_data as f64 * HALF / 100.0 => {
            let least = least(for_data.div_ceil(2));
            let help = format!("write a logical_size from \"{least}\" to \"{at_most}\"");
            refuse("cannot fill half of its pool", help)
        }
        "steady" if usual && blocks > most => {
            let help = format!(
                "write a logical_size up to \"{at_most}\", or by = {{ ..., size = ... }}, a load over fewer addresses"
            );
            refuse("fills its pool before it is steady", help)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{Layer, on_device};
    use crate::vdo::KIND;

    #[test]
    fn every_state_has_criteria_about_metrics_that_there_are() {
        let inputs = on_device("{device.data}", 7 << 30);
        let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
        let setup = Setup::read(&toml::Table::new()).unwrap();
        for state in STATES {
            let criteria = criteria(&setup, &at, state.name);
            assert!(!criteria.is_empty(), "{}", state.name);
            for Criterion { layer, metric, .. } in criteria {
                let of_layer = KIND.metrics.iter().any(|known| known.id == metric);
                assert!(of_layer == (layer == "vdo"), "{}: {metric} of {layer}", state.name);
                assert!(crate::metric(&metric).is_some(), "{metric}");
            }
        }
        assert!(criteria(&setup, &at, "tired").is_empty());
    }

    #[test]
    fn a_state_that_no_load_can_bring_about_names_a_size_that_can() {
        let inputs = on_device("{device.data}", 7 << 30);
        let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
        let reachable = |size: &str, state: &str, usual| {
            let text = format!("logical_size = \"{size}\"");
            Setup::read(&text.parse().unwrap()).unwrap().reachable(&at, state, usual)
        };
        for (size, state, usual) in [
            ("6G", "full", true),
            ("3G", "steady", true),
            ("6G", "steady", false),
            ("64M", "fresh", true),
            ("64M", "index-lost", true),
        ] {
            assert_eq!(reachable(size, state, usual), Ok(()), "{size} {state}");
        }
        for (size, state, usual, words) in [
            ("1G", "full", true, "cannot fill its pool"),
            ("64M", "steady", true, "cannot fill half"),
            ("64M", "steady", false, "cannot fill half"),
            ("6G", "steady", true, "before it is steady"),
        ] {
            let error = reachable(size, state, usual).unwrap_err();
            assert!(error.key == "logical_size" && error.message.contains(words), "{error:?}");
            for named in error.help.split('"').skip(1).step_by(2) {
                assert_eq!(reachable(named, state, usual), Ok(()), "{size} {state}: {named}");
            }
        }
    }

    #[test]
    fn a_steady_volume_is_looked_at_each_time_a_quarter_of_its_addresses_was_written() {
        let inputs = on_device("{device.data}", 7 << 30);
        let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
        let setup = Setup::read(&"logical_size = \"3G\"".parse().unwrap()).unwrap();
        let Some(Round::Growth { metric, by }) = setup.proof(&at, "steady").round else {
            panic!("no growth ends a round")
        };
        assert_eq!((&*metric, by), ("bios_in_write", 196_608.0));
        assert!(KIND.metrics.iter().any(|known| known.id == metric));
        assert_eq!(setup.proof(&at, "full").round, None);
    }

    #[test]
    fn an_allocated_volume_has_every_page_of_its_block_map() {
        let inputs = on_device("{device.data}", 12 << 30);
        let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
        let text = "logical_size = \"20G\"\nphysical_size = \"10G\"";
        let setup = Setup::read(&text.parse().unwrap()).unwrap();
        let most = |state: &str| match criteria(&setup, &at, state).last().unwrap().must {
            Requirement::BeAtLeast(blocks) | Requirement::BeAtMost(blocks) => blocks,
            _ => 0.0,
        };
        assert_eq!(most("allocated") - most("fresh"), 6637.0);
    }
}
