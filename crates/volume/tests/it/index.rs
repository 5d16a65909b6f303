//! The index on the device: what of it is lost is saving, never data.

use volume::{Device, Settings, Verb, rebuild};

use crate::load::{Client, write};

const BLOCKS: u64 = 4000;

/// A volume whose index has 32 chapters of 312 records, and which holds `BLOCKS` different blocks.
fn filled() -> (Client, Settings) {
    let settings = Settings { index_records: 32 * 312, compression: false, ..Settings::default() };
    let mut client = Client::with_index(2, 1 << 13, 1 << 20, 32, &settings);
    client.run(32, (0..BLOCKS).map(|n| write(n, n + 1, 4096)).chain([Verb::Flush]));
    assert_eq!(client.stats().space.data_blocks, BLOCKS);
    (client, settings)
}

/// Blocks that are stored anew when all of them are written once more, elsewhere.
fn anew(mut client: Client) -> u64 {
    let before = client.stats().space.data_blocks;
    let again = (0..BLOCKS).map(|n| write((1 << 19) + n, n + 1, 4096));
    client.run(32, again.chain([Verb::Flush]));
    for n in (0..BLOCKS).step_by(97) {
        assert!(client.read(n) == crate::load::block(n + 1, 4096));
    }
    client.stats().space.data_blocks - before
}

#[test]
fn an_index_outlives_a_stop_whole_and_a_cut_without_its_open_chapter() {
    let (mut client, settings) = filled();
    client.run(1, [Verb::Stop].into_iter());
    assert!(
        anew(client.again(&settings)) < BLOCKS / 50,
        "sets are of eight: a few are crowded out"
    );
    let (client, settings) = filled();
    let open = BLOCKS % 312;
    let lost = anew(client.again(&settings));
    assert!((open..open + BLOCKS / 50).contains(&lost), "{lost} of {open} in the open chapter");
}

#[test]
fn chapters_that_are_lost_cost_saving_alone_and_a_rebuild_brings_them_back() {
    let (mut client, settings) = filled();
    client.run(1, [Verb::Stop].into_iter());
    let mut device = client.device;
    let mut garbage = volume::Block::default();
    garbage.0.fill(9);
    for pbn in 2..34 {
        device.write(pbn, &garbage).unwrap();
    }
    assert_eq!(anew(Client::on(device.clone(), &settings)), BLOCKS);
    let rebuilt = rebuild(&mut device).unwrap();
    assert!(rebuilt.index.unwrap() > BLOCKS - BLOCKS / 50, "{rebuilt:?}");
    assert!(anew(Client::on(device, &settings)) < BLOCKS / 50);
}

#[test]
fn the_window_forgets_the_oldest_chapter_and_counts_what_went() {
    let (mut client, _) = filled();
    client.run(32, (0..2 * BLOCKS).map(|n| write(n, (1 << 30) + n, 4096)));
    let stats = client.stats().index;
    assert!(stats.records <= 32 * 312 && stats.discarded > 0, "{stats:?}");
    // A record that is taken for another by its part of the fingerprint takes its place.
    let all = stats.records + stats.discarded;
    assert!((3 * BLOCKS - 40..=3 * BLOCKS).contains(&all), "{stats:?}");
    assert!(client.stats().device.index.writes >= 3 * BLOCKS / 312 - 1);
}
