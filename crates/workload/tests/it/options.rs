//! Options as text: whatever is typed, an answer, never a panic; and what is printed is read back.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use proptest::prelude::{Strategy, prop_assert_eq, prop_oneof, proptest};
use units::Seed;
use workload::{
    Arrival, Backend, BlockSize, Cpus, DepthUnit, Hot, Limit, LoadSpec, OpName, Ops, Pattern,
    PerOperation, Rate, Share, Steady, Stream, SyncPolicy, Think, Verify, Zones,
};

/// Asserts that a printed value is read again as the same value.
fn agrees<T: FromStr + Display + PartialEq + Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let printed = value.to_string();
        let again = printed.parse::<T>().ok();
        assert_eq!(again.as_ref(), Some(&value), "{text:?} is printed as {printed:?}");
        assert_eq!(again.map(|value| value.to_string()), Some(printed), "{text:?}");
    }
}

fn all_agree(text: &str) {
    agrees::<Arrival>(text);
    agrees::<Backend>(text);
    agrees::<BlockSize>(text);
    agrees::<Cpus>(text);
    agrees::<DepthUnit>(text);
    agrees::<PerOperation>(text);
    agrees::<Hot>(text);
    agrees::<Limit>(text);
    agrees::<OpName>(text);
    agrees::<Ops>(text);
    agrees::<Pattern>(text);
    agrees::<Rate>(text);
    agrees::<Share>(text);
    agrees::<Steady>(text);
    agrees::<SyncPolicy>(text);
    agrees::<Think>(text);
    agrees::<Verify>(text);
    agrees::<Zones>(text);
}

/// Pieces that options are made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let words = proptest::sample::select(vec![
        "zipf",
        "normal",
        "zones",
        "strided",
        "single",
        "read",
        "randwrite",
        "flush",
        "fsync",
        "fua",
        "iops",
        "p99",
        "block_size",
        "pattern",
        "rest",
        "shift",
        "s",
        "ms",
        "ns",
        "k",
        "M",
        "G",
        "/s",
        "%",
        ":",
        ",",
        ";",
        "=",
        "/",
        "@",
        "..",
        ".",
        "-",
        "0",
        "1",
        "50",
        "100",
        "4",
        "64",
        "0.5",
        "1e9",
        "18446744073709551616",
        " ",
        "NaN",
        "inf",
    ]);
    proptest::collection::vec(words, 0..12).prop_map(|words| words.concat())
}

fn any_value() -> impl Strategy<Value = String> {
    let valid = proptest::sample::select(vec![
        "zipf:1.2",
        "zipf:0",
        "normal:5%@30%",
        "zones:90%/10%,10%/90%",
        "strided:3",
        "permutation",
        "sequential",
        "4k",
        "4k..64k",
        "4k=50,64k=50",
        "512",
        "0",
        "1",
        "3",
        "1024",
        "5000/s",
        "100M/s",
        "fdatasync:8",
        "dsync",
        "iops:5%:60s",
        "1ms:8",
        "shared",
        "parts",
        "own",
        "scattered",
        "0-3,8",
        "poisson",
        "auto",
        "read=50,randwrite=50",
        "flush=100",
        "discard=25,flush=75",
        "10s",
        "1M",
        "1G",
        "true",
    ]);
    prop_oneof![valid.prop_map(str::to_owned), pieces()]
}

const KEYS: [&str; 29] = [
    "ops",
    "pattern",
    "hot",
    "block_size",
    "align",
    "share",
    "jobs",
    "depth",
    "depth_unit",
    "batch",
    "think",
    "rate",
    "arrival",
    "limit",
    "ramp",
    "offset",
    "size",
    "duration",
    "bytes",
    "ios",
    "passes",
    "steady",
    "max_errors",
    "sync",
    "backend",
    "cpus",
    "verify",
    "interval",
    "last_block",
];

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,40}") {
        all_agree(&text);
    }

    #[test]
    fn any_row_of_pieces_gets_an_answer(text in pieces()) {
        all_agree(&text);
    }

    /// Keys with values that fit and values that do not: an error that names a key, or a load that keeps to its range.
    #[test]
    fn any_load_is_refused_with_its_key_or_can_be_run(
        values in proptest::collection::vec((proptest::sample::select(KEYS.to_vec()), any_value()), 0..6),
        bytes in 0u64..(1 << 22),
    ) {
        let mut json = serde_json::json!({"ops": {"read": 30, "randwrite": 70}, "duration": "1s"});
        for (key, value) in values {
            json[key] = match value.parse::<u64>() {
                Ok(n) => n.into(),
                Err(_) if value == "true" => true.into(),
                Err(_) => value.into(),
            };
        }
        let Ok(spec) = serde_json::from_value::<LoadSpec>(json.clone()) else { return Ok(()) };
        let stored = serde_json::to_value(&spec).unwrap();
        prop_assert_eq!(&serde_json::from_value::<LoadSpec>(stored).unwrap(), &spec);
        let fits = spec.validate().and_then(|()| spec.check_target(bytes, 512));
        match fits {
            Err(error) => {
                assert!(!error.help().is_empty() && !error.key().is_empty());
                assert!(KEYS.contains(&error.key()) || error.key() == "content", "{}", error.key());
            }
            Ok(range) => {
                assert!(!spec.describe().is_empty());
                let jobs = spec.jobs.min(3);
                for job in 0..jobs {
                    for io in Stream::new(&spec, &range, Seed(1), job, spec.jobs).take(100) {
                        assert!(io.offset + u64::from(io.length) <= range.end(), "{io:?} of {range:?} by {json}");
                        assert!(io.offset >= range.start || !io.op.has_place());
                        assert_eq!(io.length == 0, !io.op.has_place());
                    }
                }
            }
        }
    }
}
