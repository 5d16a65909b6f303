//! Rules that a power cut must keep, one by one.

use disk::{Cut, Destage, Disk, Drive, Like, Op, Reply, Request, Store};
use units::{Bytes, Seed};

const SIZE: u64 = 1 << 30;
const SECTOR: usize = 4096;
const MS: u64 = 1_000_000;
/// Everything that is not safe is gone.
const DROP: Cut = Cut { keep: 0.0, drop: 1.0, tear: 0.0 };

/// A drive under test.
struct Rig {
    drive: Drive,
    now: u64,
    requests: u64,
}

impl Rig {
    fn new(like: &str) -> Self {
        Self::faulty(like, &[])
    }

    fn faulty(like: &str, faults: &[disk::Fault]) -> Self {
        let profile = like.parse::<Like>().unwrap().profile().unwrap();
        let disk = Disk::new(&profile, SIZE).with_faults(faults, SIZE, Seed(1)).unwrap();
        Self { drive: Drive::new(disk, Store::new(SIZE, Bytes(64 << 20))), now: 0, requests: 0 }
    }

    /// Asks and does not wait.
    fn submit(&mut self, op: Op, offset: u64, bytes: &[u8], fua: bool) -> u64 {
        self.requests += 1;
        let (id, arrival, length) = (self.requests, self.now, bytes.len() as u64);
        self.drive.submit(Request { id, arrival, op, offset, length, fua }, bytes);
        id
    }

    /// Lets time go by until the reply to `id`.
    fn until(&mut self, id: u64) -> Reply {
        let mut replies = Vec::new();
        loop {
            self.now = self.drive.next().expect("a reply is due");
            self.drive.advance(self.now, &mut replies);
            if let Some(reply) = replies.iter().find(|reply| reply.id == id) {
                return *reply;
            }
        }
    }

    fn wait(&mut self, ns: u64) {
        self.now += ns;
        self.drive.advance(self.now, &mut Vec::new());
    }

    fn write(&mut self, sector: u64, byte: u8) {
        let id = self.submit(Op::Write, sector * SECTOR as u64, &[byte; SECTOR], false);
        self.until(id);
    }

    fn flush(&mut self) {
        let id = self.submit(Op::Flush, 0, &[], false);
        self.until(id);
    }

    fn cut(self, cut: Cut, seed: u64) -> Store {
        self.drive.cut(self.now, cut, Seed(seed))
    }
}

fn sector(store: &Store, sector: u64) -> Vec<u8> {
    let mut bytes = vec![0; SECTOR];
    store.read(sector * SECTOR as u64, &mut bytes).unwrap();
    bytes
}

fn is(store: &Store, number: u64, byte: u8) -> bool {
    sector(store, number) == [byte; SECTOR]
}

#[test]
fn a_flush_waits_for_every_write_before_it_also_for_the_one_on_its_way_to_the_medium() {
    for wait in [0, 1, 5, 10, 20, 40] {
        let mut rig = Rig::new("hdd");
        (0..20).for_each(|i| rig.write(i * 10_000, i as u8 + 1));
        // By now the arm is on its way with one of them.
        rig.wait(wait * MS);
        rig.flush();
        let store = rig.cut(DROP, 1);
        assert!((0..20).all(|i| is(&store, i * 10_000, i as u8 + 1)), "after {wait} ms");
    }
}

#[test]
fn losing_a_later_version_leaves_the_one_that_was_flushed() {
    let mut rig = Rig::new("hdd");
    rig.write(5, 1);
    rig.flush();
    rig.write(5, 2);
    rig.write(5, 3);
    assert!(is(&rig.cut(DROP, 1), 5, 1));
}

#[test]
fn fua_replies_when_its_own_bytes_are_safe_and_an_older_copy_never_wins_later() {
    for like in ["hdd", "ssd"] {
        let mut rig = Rig::new(like);
        rig.write(5, 1);
        rig.write(600, 7);
        let id = rig.submit(Op::Write, 5 * SECTOR as u64, &[2; SECTOR], true);
        let reply = rig.until(id);
        assert!(reply.failed.is_none());
        assert_eq!(rig.drive.store().volatile().0 % SECTOR as u64, 0);
        rig.wait(5000 * MS);
        assert!(is(&rig.cut(DROP, 1), 5, 2), "{like}");
    }
    // On a hard disk it takes as long as the medium does, and a usual write does not.
    let mut rig = Rig::new("hdd");
    let id = rig.submit(Op::Write, SIZE / 2, &[1; SECTOR], true);
    assert!(rig.until(id).at > MS);
}

#[test]
fn any_part_of_what_was_not_flushed_may_survive_and_of_what_was_not_replied_to() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let mut rig = Rig::new("hdd");
        rig.write(1, 1);
        rig.write(50_000, 2);
        // No reply to this one yet.
        rig.submit(Op::Write, 100_000 * SECTOR as u64, &[3; SECTOR], false);
        let store = rig.cut(Cut::default(), seed);
        seen.insert([(1, 1), (50_000, 2), (100_000, 3)].map(|(at, byte)| is(&store, at, byte)));
    }
    assert_eq!(seen.len(), 8, "{seen:?}");
}

#[test]
fn the_cut_is_at_one_instant() {
    // What would reach the medium later does not.
    let mut rig = Rig::new("hdd,write_cache=false");
    let id = rig.submit(Op::Write, SIZE / 2, &[1; SECTOR], false);
    let mut later = Rig::new("hdd,write_cache=false");
    let same = later.submit(Op::Write, SIZE / 2, &[1; SECTOR], false);
    let at = later.until(same).at;
    rig.wait(at - 1);
    let before = rig.cut(DROP, 1);
    assert_eq!(id, same);
    assert!(is(&before, SIZE / 2 / SECTOR as u64, 0));
    assert!(is(&later.cut(DROP, 1), SIZE / 2 / SECTOR as u64, 1));
}

#[test]
fn a_discard_is_lost_like_a_write() {
    for (like, flushed, left) in
        [("ssd", false, 1), ("ssd", true, 0), ("hdd", false, 1), ("hdd", true, 0)]
    {
        let mut rig = Rig::new(like);
        rig.write(8, 1);
        rig.flush();
        let id = rig.submit(Op::Discard, 8 * SECTOR as u64, &[0; SECTOR], false);
        rig.until(id);
        let mut bytes = vec![9; SECTOR];
        rig.drive.read(8 * SECTOR as u64, &mut bytes).unwrap();
        assert_eq!(bytes, [0; SECTOR]);
        if flushed {
            rig.flush();
        }
        assert!(is(&rig.cut(DROP, 1), 8, left), "{like}, flushed {flushed}");
    }
}

#[test]
fn sectors_are_whole_or_not_there_unless_they_may_be_torn_and_then_at_512_bytes() {
    let mixed = |cut: Cut, seed: u64| {
        let mut rig = Rig::new("hdd");
        rig.write(3, 1);
        rig.flush();
        rig.write(3, 2);
        let bytes = sector(&rig.cut(cut, seed), 3);
        let new = bytes.iter().filter(|byte| **byte == 2).count();
        assert!(bytes[..new].iter().all(|byte| *byte == 2));
        assert!(bytes[new..].iter().all(|byte| *byte == 1));
        new
    };
    for seed in 0..50 {
        assert!([0, SECTOR].contains(&mixed(Cut::default(), seed)));
        let torn = mixed(Cut { keep: 0.0, drop: 0.0, tear: 1.0 }, seed);
        assert!(torn % 512 == 0 && (512..SECTOR).contains(&torn), "{torn}");
    }
}

#[test]
fn without_a_write_cache_every_write_that_was_replied_to_survives() {
    for like in ["hdd,write_cache=false", "ssd,power_loss_protection=true", "memory"] {
        let mut rig = Rig::new(like);
        (0..50).for_each(|i| rig.write(i * 999, i as u8 + 1));
        let store = rig.cut(DROP, 1);
        assert!((0..50).all(|i| is(&store, i * 999, i as u8 + 1)), "{like}");
    }
}

#[test]
fn what_is_in_a_page_of_flash_that_is_not_full_is_not_safe() {
    let mut rig = Rig::new("ssd");
    (0..3).for_each(|i| rig.write(i, 1));
    rig.wait(1000 * MS);
    let store = rig.cut(DROP, 1);
    assert!((0..3).all(|i| is(&store, i, 0)), "three of four sectors of a page");
    let mut rig = Rig::new("ssd");
    (0..4).for_each(|i| rig.write(i, 1));
    rig.wait(1000 * MS);
    let store = rig.cut(DROP, 1);
    assert!((0..4).all(|i| is(&store, i, 1)), "the page was full, and is programmed");
}

/// Writes with flushes between, cuts the power, and counts flushed writes that are damaged.
fn violations(like: &str, faults: &[disk::Fault], seed: u64) -> usize {
    let mut rig = Rig::faulty(like, faults);
    let mut random = Seed(seed).generator();
    let mut safe = std::collections::BTreeMap::new();
    let mut flushed = Vec::new();
    let writes = 150 + random.below(100);
    for i in 0..writes {
        let at = random.below(1000) * 37;
        let byte = (i % 250) as u8 + 1;
        let fua = i % 50 == 17;
        let id = rig.submit(Op::Write, at * SECTOR as u64, &[byte; SECTOR], fua);
        rig.until(id);
        flushed.push((at, byte));
        if fua {
            // Others of this place are older; what is safe is this or anything later.
            flushed.retain(|(place, _)| *place != at);
            safe.insert(at, vec![byte]);
        } else {
            safe.entry(at).or_insert_with(|| vec![0]).push(byte);
        }
        if i % 40 == 39 {
            rig.flush();
            for (at, byte) in flushed.drain(..) {
                safe.insert(at, vec![byte]);
            }
        }
    }
    let store = rig.cut(Cut::default(), seed);
    safe.iter().filter(|(at, bytes)| !bytes.iter().any(|byte| is(&store, **at, *byte))).count()
}

#[test]
fn no_flushed_write_is_damaged_and_a_disk_that_lies_about_flushes_is_caught() {
    for like in ["hdd", "ssd", "nvme", "hdd,write_cache=false"] {
        let honest: usize = (0..20).map(|seed| violations(like, &[], seed)).sum();
        assert_eq!(honest, 0, "{like}");
    }
    for seed in 0..10 {
        let found = violations("hdd", &[disk::Fault::Lie {}], seed);
        assert!(found > 5, "{found}");
    }
}

#[test]
fn what_was_not_flushed_is_at_risk_however_late_and_a_lying_disk_loses_what_was_flushed() {
    for like in ["hdd", "ssd"] {
        for (destage, left) in
            [(None, [1, 2]), (Some(Destage::AtFlush), [1, 0]), (Some(Destage::Never), [0, 0])]
        {
            let mut rig = Rig::new(like);
            rig.drive = rig.drive.destaging(destage);
            rig.write(5, 1);
            rig.flush();
            rig.write(9, 2);
            // By itself a disk has long written everything by then.
            rig.wait(10_000 * MS);
            let store = rig.cut(DROP, 1);
            // The model of flash keeps less than a page until a flush.
            let left = if like == "ssd" { [left[0], 0] } else { left };
            assert_eq!([5, 9].map(|number| sector(&store, number)[0]), left, "{like}, {destage:?}");
        }
    }
}
