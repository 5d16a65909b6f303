//! Shapes of VDO's behaviour, in counters.

use units::Seed;
use volume::{Settings, Verb};

use crate::load::{Client, write};

const LEAF: u64 = 812;

#[test]
fn the_first_write_takes_four_pages_and_five_entries() {
    let mut client = Client::new(2, 1 << 13, 1 << 22, &Settings::default());
    client.run(1, [write(7, 1, 4096), Verb::Flush].into_iter());
    let stats = client.stats();
    assert_eq!((stats.map.pages_made, stats.journal.entries), (4, 5));
    assert_eq!((stats.space.map_blocks, stats.space.data_blocks), (4, 1));
}

#[test]
fn allocating_the_map_takes_its_leaves_and_180_pages() {
    let mut client = Client::new(2, 1 << 13, 4000 * LEAF, &Settings::default());
    let zeros = (0..4000).map(|leaf| write(leaf * LEAF, 0, 0));
    client.run(64, zeros);
    assert_eq!(client.stats().map.pages_made, 4180);
    assert_eq!(client.stats().space.data_blocks, 0);
}

#[test]
fn misses_of_the_cache_are_one_minus_cache_by_leaves() {
    let leaves = 1000;
    for (cache, expected) in [(1025, 0.0), (500, 0.5), (250, 0.75)] {
        let settings = Settings { cache_pages: cache, ..Settings::default() };
        let mut client = Client::new(2, 1 << 13, leaves * LEAF, &settings);
        client.run(64, (0..leaves).map(|leaf| write(leaf * LEAF, 0, 0)));
        let random = &mut Seed(3).generator();
        let mut zeros =
            |n: u64| (0..n).map(|_| write(random.below(leaves * LEAF), 0, 0)).collect::<Vec<_>>();
        client.run(8, zeros(5000).into_iter());
        let before = client.stats().map.pages_loaded;
        let writes = 40_000;
        client.run(8, zeros(writes).into_iter());
        let missed = (client.stats().map.pages_loaded - before) as f64 / writes as f64;
        assert!((missed - expected).abs() < 0.01, "{cache}: {missed}");
    }
}

#[test]
fn flushes_cost_the_packer_its_saving() {
    // Three blocks to one on the device.
    let blocks = |flush: usize| {
        let mut client = Client::new(2, 1 << 13, 1 << 20, &Settings::default());
        let writes = (0..2048).flat_map(|n: u64| {
            let flush = flush > 0 && (n + 1).is_multiple_of(flush as u64);
            [Some(write(n, n + 1, 1200)), flush.then_some(Verb::Flush)].into_iter().flatten()
        });
        client.run(flush.clamp(1, 32), writes);
        client.run(1, std::iter::once(Verb::Flush));
        client.stats().space.data_blocks
    };
    let table = [0, 128, 32, 8, 1].map(|flush| (flush, blocks(flush)));
    println!("{table:?}");
    let [never, rarely, _, often, always] = table.map(|(_, blocks)| blocks);
    assert!((683..=690).contains(&never), "{table:?}");
    assert_eq!(always, 2048);
    assert!(never <= rarely && rarely < often && often < always, "{table:?}");
}

#[test]
fn physical_writes_are_in_order_until_the_first_slab_is_opened_again() {
    // Seven slabs, random overwrites without duplicates: the knee of a half full volume.
    let settings = Settings { compression: false, ..Settings::default() };
    let mut client = Client::new(7, 1 << 13, 40_000, &settings);
    let random = &mut Seed(5).generator();
    let mut at = 0;
    for id in 0..120_000 {
        client.run(1, std::iter::once(write(random.below(40_000), id + 1, 16)));
        let space = client.stats().space;
        if space.slabs_reopened > 0 {
            at = space.data_blocks * 100 / (7 * 7965);
            break;
        }
    }
    assert!((40..=55).contains(&at), "the first slab was opened again at {at} % used");
}
