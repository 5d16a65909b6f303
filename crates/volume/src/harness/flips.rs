//! Flipped bits in records must be mended or reported; they never cause a panic, or reads of other data.

use units::Seed;

use crate::block::Pbn;
use crate::check::check;
use crate::core::{Policy, Rules};
use crate::format::{JournalBlock, Page};
use crate::harness::content::ERROR;
use crate::harness::device::Disk;
use crate::harness::life::{Life, Load};
use crate::harness::oracle::Oracle;
use crate::harness::run::{addresses, geometry, medium, settings};
use crate::start::{create, start};

#[test]
fn a_flipped_bit_of_a_record_is_mended_or_reported() {
    let (mut flips, mut reported, mut unread, mut cut_off) = (0, 0, 0, 0);
    for seed in 0..4 {
        let random = &mut Seed(seed).generator();
        let geometry = geometry(random);
        let mut disk = Disk::new(medium(geometry.sizes.device, random));
        create(&mut disk, geometry, [1; 16]).unwrap();
        let settings = settings(random, Policy::Sync, Rules::default());
        let (mut volume, _) = start(&mut disk, &settings).unwrap();
        let load = Load {
            addresses: addresses(random),
            depth: 8,
            requests: 300,
            flushes: 10,
            shared: 10,
            changes: false,
            to_the_end: true,
            grow: None,
        };
        let mut oracle = Oracle::default();
        Life::new(&mut volume, &mut disk, &mut oracle, random, Policy::Sync).run(&load).unwrap();
        disk.cut(random);
        let sound = check(&mut disk).unwrap();
        assert_eq!(sound.problems, []);
        // The journal blocks of the last commit, whose damage looks as a torn write does.
        let journal = geometry.journal_at..geometry.sizes.device;
        let blocks = journal.filter_map(|pbn| {
            JournalBlock::read(&disk.medium[pbn as usize], &[1; 16]).map(|block| block.header)
        });
        let last = blocks.max_by_key(|header| header.seq).unwrap();
        let last: Vec<_> = (last.committed..=last.seq).map(|s| geometry.journal_block(s)).collect();
        let page = |pbn: Pbn| Page::read(&disk.medium[pbn as usize], &[1; 16], pbn).is_some();
        let pages: Vec<_> = (0..geometry.sizes.device).filter(|pbn| page(*pbn)).collect();
        assert!(pages.len() > 64, "leaves and pages above, without the roots: {}", pages.len());
        let data = |pbn: &Pbn| geometry.number(*pbn).is_some() && !pages.contains(pbn);
        let records: Vec<_> = (0..geometry.sizes.device).filter(|pbn| !data(pbn)).collect();
        for _ in 0..if cfg!(debug_assertions) { 250 } else { 2500 } {
            let pbn = records[random.below(records.len() as u64) as usize] as usize;
            let (at, bit) = (random.below(4096) as usize, 1 << random.below(8));
            disk.medium[pbn].0[at] ^= bit;
            flips += 1;
            match check(&mut disk) {
                Err(_) => reported += 1,
                Ok(report) if !report.problems.is_empty() => reported += 1,
                // A superblock's other copy, or a journal block that is not needed.
                Ok(report) if report.mappings == sound.mappings => {
                    assert!(
                        !pages.contains(&(pbn as Pbn)),
                        "page {pbn}, byte {at}: nothing is reported"
                    );
                    unread += 1;
                }
                // The end of the journal is gone, as after a cut: an earlier state, sound in itself.
                Ok(_) => {
                    assert!(last.contains(&(pbn as u64)), "block {pbn}, not one of {last:?}");
                    cut_off += 1;
                }
            }
            disk.medium[pbn].0[at] ^= bit;
        }
    }
    println!(
        "{flips} flips, {reported} reported, {unread} without effect, {cut_off} ended the journal"
    );
    assert!(reported > 0 && unread > 0 && flips > reported, "{flips} {reported} {unread}");
}

#[test]
fn a_flipped_bit_of_a_leaf_fails_the_reads_behind_it_and_never_gives_other_data() {
    let random = &mut Seed(7).generator();
    let geometry = geometry(random);
    let mut disk = Disk::new(medium(geometry.sizes.device, random));
    create(&mut disk, geometry, [1; 16]).unwrap();
    let settings = settings(random, Policy::Sync, Rules::default());
    let load = Load {
        addresses: addresses(random),
        depth: 8,
        requests: 300,
        flushes: 10,
        shared: 10,
        changes: false,
        to_the_end: true,
        grow: None,
    };
    let (mut volume, _) = start(&mut disk, &settings).unwrap();
    let mut oracle = Oracle::default();
    let mut life = Life::new(&mut volume, &mut disk, &mut oracle, random, Policy::Sync);
    life.run(&load).unwrap();
    let addresses = life.oracle.addresses();
    let values: Vec<_> = addresses.iter().map(|lbn| life.read(*lbn).unwrap()).collect();
    assert!(life.stop());
    let data = |pbn: &Pbn| geometry.number(*pbn).is_some();
    let page = |disk: &Disk, pbn: Pbn| Page::read(&disk.medium[pbn as usize], &[1; 16], pbn);
    let pages: Vec<_> = (0..geometry.sizes.device).filter(data).collect();
    let pages: Vec<_> = pages.into_iter().filter(|pbn| page(&disk, *pbn).is_some()).collect();
    let (mut refused, mut failed) = (0, 0);
    for pbn in pages {
        let medium = disk.medium.clone();
        let (at, bit) = (random.below(4096) as usize, 1 << random.below(8));
        disk.medium[pbn as usize].0[at] ^= bit;
        match start(&mut disk, &settings) {
            Err(_) => refused += 1,
            Ok((mut volume, _)) => {
                let mut life = Life::new(&mut volume, &mut disk, &mut oracle, random, Policy::Sync);
                for (lbn, value) in addresses.iter().zip(&values) {
                    let read = life.read(*lbn).unwrap();
                    assert!(
                        read == *value || read == ERROR,
                        "block {lbn} reads {read}, not {value}"
                    );
                    failed += u64::from(read == ERROR);
                }
            }
        }
        disk = Disk::new(medium);
    }
    assert!(refused > 0 && failed > 0, "{refused} starts refused, {failed} reads failed");
}
