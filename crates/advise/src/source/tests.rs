//! Files as they come: whole, cut, damaged, of other things.

use std::fs;

use disk::Op;

use super::*;

/// A record of blktrace: `wide` is version 8, `big` of a machine with the other byte order.
#[derive(Clone, Copy)]
struct Made {
    wide: bool,
    big: bool,
    act: u32,
    category: u32,
    sector: u64,
    bytes: u32,
    at_ns: u64,
    number: u32,
    device: u32,
    behind: u16,
}

const READ: Made = Made {
    wide: false,
    big: false,
    act: 1,
    category: 1,
    sector: 8,
    bytes: 4096,
    at_ns: 5,
    number: 0,
    device: 7 << 20,
    behind: 0,
};

impl Made {
    fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |value: u64, length: usize| {
            let all = value.to_le_bytes();
            let field = all[..length].to_vec();
            bytes.extend(if self.big { field.into_iter().rev().collect() } else { field });
        };
        put(0x6561_7400 | if self.wide { 8 } else { 7 }, 4);
        put(self.number.into(), 4);
        put(self.at_ns, 8);
        put(self.sector, 8);
        put(self.bytes.into(), 4);
        let action = u64::from(self.category) << 16 | u64::from(self.act);
        if self.wide {
            put(99, 4);
            put(action, 8);
        } else {
            put(action, 4);
            put(99, 4);
        }
        put(self.device.into(), 4);
        put(0, 4);
        put(0, 2);
        put(self.behind.into(), 2);
        if self.wide {
            put(0, 8);
            put(0, 4);
        }
        bytes.extend(vec![0xee; self.behind.into()]);
        bytes
    }
}

fn files(texts: &[(&str, Vec<u8>)]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().unwrap();
    let write = |(name, bytes): &(&str, Vec<u8>)| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let paths = texts.iter().map(write).collect();
    (dir, paths)
}

fn taken(trace: &Trace) -> Vec<Access> {
    let mut all = Vec::new();
    trace.each(|access| all.push(*access)).unwrap();
    all
}

#[test]
fn both_versions_and_byte_orders_are_read_and_processors_merged_in_time() {
    for (wide, big) in [(false, false), (true, false), (false, true), (true, true)] {
        let made = Made { wide, big, ..READ };
        let note = Made { category: 1 << 10, act: 1, behind: 8, ..made };
        let write =
            Made { category: 1 << 1, act: 1 | 1 << 8, at_ns: 7, sector: 80, behind: 8, ..made };
        let discard = Made { category: 1 << 1 | 1 << 13, at_ns: 6, bytes: 65_536, ..made };
        let flush = Made { category: 1 << 1 | 1 << 2, at_ns: 8, bytes: 0, ..made };
        let one = [note, made, Made { act: 7, ..made }, Made { act: 8, ..made }, write];
        let all = |records: &[Made]| records.iter().flat_map(|one| one.encode()).collect();
        let (_dir, paths) =
            files(&[("x.blktrace.0", all(&one)), ("x.blktrace.1", all(&[discard, flush]))]);
        let trace = Trace::open(&paths, &mut |_| ()).unwrap();
        let [first, second] = trace.files() else { panic!() };
        assert_eq!((first.ios, second.ios, first.cut, first.dropped), (2, 2, false, 0));
        assert_eq!((first.event, first.of.as_deref()), (Some("queued"), Some("7:0")));
        assert_eq!(trace.times_ns(), (5, 8));
        let access = |at_ns, op, offset, bytes| Access { at_ns, op, offset, bytes };
        let expected = [
            access(5, Op::Read, 4096, 4096),
            access(6, Op::Discard, 4096, 65_536),
            access(7, Op::Write, 40_960, 4096),
            access(8, Op::Flush, 4096, 0),
        ];
        assert_eq!(taken(&trace), expected);
    }
}

#[test]
fn events_that_were_not_recorded_are_not_waited_for() {
    let complete = Made { act: 8, ..READ }.encode();
    let (_dir, paths) = files(&[("x.blktrace.0", complete.repeat(3))]);
    let trace = Trace::open(&paths, &mut |_| ()).unwrap();
    assert_eq!((trace.files()[0].event, taken(&trace).len()), (Some("completed"), 3));
}

#[test]
fn what_is_missing_cut_or_impossible_is_said() {
    let numbered = |number| Made { number, ..READ }.encode();
    let mut bytes = [numbered(1), numbered(2), numbered(9)].concat();
    bytes.extend(Made { sector: u64::MAX / 600, ..READ }.encode());
    bytes.extend(&numbered(10)[..20]);
    let (_dir, paths) = files(&[("x.blktrace.0", bytes.clone())]);
    let trace = Trace::open(&paths, &mut |_| ()).unwrap();
    let file = &trace.files()[0];
    assert_eq!((file.ios, file.dropped, file.damaged, file.cut), (3, 6, 1, true));
    // Cut anywhere, a file is read as far as it goes or refused; never more than that.
    for length in 0..bytes.len() {
        let (_dir, paths) = files(&[("x.blktrace.0", bytes[..length].to_vec())]);
        match Trace::open(&paths, &mut |_| ()) {
            Ok(trace) => assert_eq!(taken(&trace).len(), length.div_euclid(48).min(3)),
            Err(error) => assert!(length < 48, "{length}: {error}"),
        }
    }
    let mut long = Made { behind: 60_000, ..READ }.encode();
    long.truncate(100);
    let (_dir, paths) = files(&[("x.blktrace.0", [numbered(1), long].concat())]);
    assert!(Trace::open(&paths, &mut |_| ()).unwrap().files()[0].cut);
}

fn refused(texts: &[(&str, Vec<u8>)], phrase: &str) {
    let (_dir, paths) = files(texts);
    let error = Trace::open(&paths, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains(phrase), "'{phrase}' is not in: {error}");
    assert!(!error.help().is_empty());
}

#[test]
fn what_is_no_trace_or_does_not_go_together_is_refused() {
    let read = READ.encode();
    let other = Made { device: 8 << 20, ..READ }.encode();
    refused(&[("a", b"just a text\n".to_vec())], "no trace that is known");
    refused(&[("a", Vec::new())], "no trace that is known");
    refused(&[("x.blktrace.0", Vec::new())], "no read and no write");
    refused(
        &[(
            "a",
            [&read[..], b"and text that is none of it at all, for more than a record"].concat(),
        )],
        "byte 48",
    );
    let version = [&[9, 0x74, 0x61, 0x65], &read[4..]].concat();
    refused(&[("a", version)], "version 9");
    refused(&[("a", read.clone()), ("b", other.clone())], "7:0, 8:0");
    refused(&[("a", [read.clone(), other].concat())], "7:0, 8:0");
    let log = b"1, 5, 0, 4096, 8192, 0\n".to_vec();
    refused(&[("a", read), ("j_lat.1.log", log.clone())], "different kinds");
    refused(&[("j_lat.1.log", log.clone()), ("j_clat.1.log", log)], "clat, lat");
}

#[test]
fn logs_of_fio_are_read_where_they_have_offsets() {
    let new = b"0, 114590, 0, 4096, 1295118336, 0\n2, -1, 1, 65536, 0, 0\n3, 7, 2, 4096, 512, 0\n"
        .to_vec();
    let old = b"1, 5, 0, 4096, 8192\n1, 5, 0, 40".to_vec();
    let (_dir, paths) = files(&[("j_lat.1.log", new), ("j_lat.2.log", old)]);
    let trace = Trace::open(&paths, &mut |_| ()).unwrap();
    let [first, second] = trace.files() else { panic!() };
    assert_eq!((first.ios, first.cut, first.damaged), (3, false, 0));
    assert_eq!((second.ios, second.cut, second.damaged), (1, true, 0));
    let access = |at_ns, op, offset, bytes| Access { at_ns, op, offset, bytes };
    let expected = [
        access(0, Op::Read, 1_295_118_336, 4096),
        access(1_000_000, Op::Read, 8192, 4096),
        access(2_000_000, Op::Write, 0, 65_536),
        access(3_000_000, Op::Discard, 512, 4096),
    ];
    assert_eq!(taken(&trace), expected);
    for without in
        ["0, 5, 0, 4096\n", "0, 5, 0, 4096, 0\n", "0, 5, 0, 4096, 0x2001\n", "500, 5, 0, 0, 0, 0\n"]
    {
        refused(&[("j_lat.1.log", without.into())], "does not say where");
    }
}

#[test]
fn an_io_that_is_longer_than_the_kernel_counts_is_damage_and_none() {
    let log = "1, 5, 0, 4096, 8192\n2, 5, 1, 4611686018427387904, 0\n3, 5, 0, 4294967296, 0\n";
    let (_dir, paths) = files(&[("j_lat.1.log", log.into())]);
    let trace = Trace::open(&paths, &mut |_| ()).unwrap();
    assert_eq!((trace.files()[0].ios, trace.files()[0].damaged, taken(&trace).len()), (1, 2, 1));
}

#[test]
fn traces_of_its_own_are_read_in_the_order_of_arrival() {
    use disk::trace::{Header, Record, Writer};
    use results::iolog::{self, Closing, IoRecord};
    let header = Header {
        role: "data".into(),
        size: 1 << 40,
        like: "hdd".parse().unwrap(),
        faults: Vec::new(),
        attributes: disk::Attributes::default(),
    };
    let mut writer = Writer::begin(Vec::new(), &header, u64::MAX).unwrap();
    for (arrival_ns, failed) in [(9, false), (3, false), (5, true)] {
        let (op, offset, length) = (Op::Write, 4096, 4096);
        let record = Record {
            arrival_ns,
            op,
            fua: false,
            failed,
            offset,
            length,
            latency_ns: 1,
            late_ns: 0,
        };
        writer.add(&record).unwrap();
    }
    let names = iolog::Header { operations: vec!["randread".into()], targets: vec!["t".into()] };
    let mut log = Vec::new();
    iolog::begin(&mut log, &names).unwrap();
    for (start_ns, error) in [(7, 0), (2, 0), (4, 5)] {
        log.extend(
            IoRecord { start_ns, error, latency_ns: 10, length: 512, ..IoRecord::default() }
                .encode(),
        );
    }
    let whole = log.clone();
    iolog::close(&mut log, Closing { recorded: 3, dropped: 4 }).unwrap();
    let (_dir, paths) = files(&[("a", writer.finish().unwrap()), ("b", log), ("c", whole)]);
    let of = |at: usize| Trace::open(&paths[at..=at], &mut |_| ()).unwrap();
    let times = |trace: &Trace| taken(trace).iter().map(|one| one.at_ns).collect::<Vec<_>>();
    assert_eq!((times(&of(0)), times(&of(1))), (vec![3, 9], vec![2, 7]));
    let counts = |trace: &Trace| {
        let file = &trace.files()[0];
        (file.ios, file.failed, file.dropped, file.cut)
    };
    assert_eq!(
        [counts(&of(0)), counts(&of(1)), counts(&of(2))],
        [(2, 1, 0, false), (2, 1, 4, false), (2, 1, 0, true)]
    );
    assert!(matches!(Trace::open(&paths, &mut |_| ()), Err(Error::DoNotBelongTogether { .. })));
}

fn packed(bytes: &[u8]) -> [Vec<u8>; 2] {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    [gzip.finish().unwrap(), zstd::encode_all(bytes, 1).unwrap()]
}

#[test]
fn what_was_packed_is_read_as_what_it_holds_and_said_where_it_is_damaged() {
    let plain: Vec<u8> = (0..2000).flat_map(|at| Made { at_ns: at, ..READ }.encode()).collect();
    for bytes in packed(&plain) {
        let (_dir, paths) = files(&[("x.blktrace.0.packed", bytes.clone())]);
        let trace = Trace::open(&paths, &mut |_| ()).unwrap();
        assert_eq!((trace.files()[0].ios, trace.files()[0].cut), (2000, false));
        let (_dir, paths) = files(&[("x.blktrace.0.packed", bytes[..bytes.len() / 2].to_vec())]);
        match Trace::open(&paths, &mut |_| ()) {
            Ok(trace) => assert!(trace.files()[0].cut),
            Err(error) => {
                assert!(matches!(error, Error::Damaged { .. } | Error::Empty { .. }), "{error}");
            }
        }
    }
}

#[test]
fn the_same_ios_twice_are_refused_and_what_lies_beside_is_told() {
    let first = Made { at_ns: 1, ..READ }.encode();
    let second = Made { at_ns: 2, sector: 64, ..READ }.encode();
    let (dir, paths) = files(&[
        ("a.blktrace.0", first.clone()),
        ("a.blktrace.1", second),
        ("copy", first),
        ("a.blktrace.1.gz", vec![1]),
        ("b.blktrace.2", vec![1]),
    ]);
    fs::hard_link(&paths[0], dir.path().join("link")).unwrap();
    let both = [paths[0].clone(), paths[1].clone()];
    assert_eq!(Trace::open(&both, &mut |_| ()).unwrap().unnamed_siblings(), Vec::<PathBuf>::new());
    let alone = Trace::open(&both[..1], &mut |_| ()).unwrap();
    assert_eq!(alone.unnamed_siblings(), [paths[1].clone()]);
    for other in [paths[0].clone(), paths[2].clone(), dir.path().join("link")] {
        let error =
            Trace::open(&[paths[0].clone(), paths[1].clone(), other], &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("are the same") && error.is_usage(), "{error}");
    }
}

#[test]
fn ios_that_fio_wrote_to_do_again_are_read_with_their_times() {
    let third = "fio version 3 iolog\n14 /dev/x add\n20 /dev/x open\n30 /dev/x read 4096 8192\n\
                 40 /dev/x write 0 4096\n50 /dev/x sync 0 0\n60 /dev/x trim 0 65536\n70 /dev/x close\n";
    let second =
        "fio version 2 iolog\nf add\nf open\nf read 4096 8192\nf wait 10 0\nf write 0 4096\n";
    let (_dir, paths) = files(&[("3", third.into()), ("2", second.into())]);
    for (path, whole) in paths.iter().zip([4, 2]) {
        let trace = Trace::open(std::slice::from_ref(path), &mut |_| ()).unwrap();
        let file = &trace.files()[0];
        assert_eq!(
            (file.kind, file.ios, file.damaged, file.cut),
            (FileKind::FioIoLog, whole, 0, false)
        );
        let mut all = Vec::new();
        trace.each(|access| all.push(*access)).unwrap();
        let start = all[0].at_ns;
        assert_eq!((all[0].op, all[0].offset, all[0].bytes), (Op::Read, 4096, 8192));
        assert_eq!((all[1].op, all[1].at_ns - start), (Op::Write, 10_000));
    }
    let text = third.replace("40 /dev/x write", "40 /dev/y write");
    let odd = [
        text.as_str(),
        &third[..60],
        "fio version 9 iolog\n",
        "fio version 3 iolog\nnonsense\n30 f read 1 2\n",
    ];
    let of = |text: &str| {
        let (_dir, paths) = files(&[("log", text.into())]);
        Trace::open(&paths, &mut |_| ()).map(|trace| trace.files()[0].clone())
    };
    assert!(matches!(of(odd[0]), Err(Error::DoNotBelongTogether { .. })));
    assert!(matches!(of(odd[1]), Err(Error::Empty { .. })));
    assert!(matches!(of(odd[2]), Err(Error::Damaged { .. })));
    assert_eq!(of(odd[3]).map(|file| (file.ios, file.damaged)).unwrap(), (1, 1));
}
