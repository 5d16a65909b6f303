//! Asks that cannot be met, or that contradict each other: refused by the key, with what to do.

use content::{Compress, ContentError, ContentSpec, Contents, Durable, Part, Source};
use units::{Percent, Seed};

fn spec(dedupe: f64, zero: f64, compress: &str) -> ContentSpec {
    ContentSpec {
        dedupe: Percent(dedupe),
        zero: Percent(zero),
        compress: compress.parse().unwrap(),
        ..ContentSpec::default()
    }
}

fn read(toml: &str) -> ContentSpec {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{toml}: {error}"))
}

#[test]
fn asks_that_cannot_be_met_are_refused_with_what_can() {
    for (spec, needed) in [
        (spec(100.0, 0.0, "none"), "99%"),
        (spec(60.0, 40.0, "none"), "59%"),
        (spec(0.0, 0.0, "400x"), "x"),
        (ContentSpec { window: Some(0), ..spec(10.0, 0.0, "none") }, "16384"),
    ] {
        let error = spec.validate().expect_err(needed);
        assert!(error.help().contains(needed), "{error}: {}", error.help());
        assert!(error.to_string().contains("content"), "{error}");
    }
    spec(0.0, 100.0, "none").validate().unwrap();
    // The nearest that is named can be had.
    for compress in ["400x", "99.9%", "1.001x", "0.1%"] {
        match spec(0.0, 0.0, compress).validate() {
            Err(content::ContentError::Unreachable { nearest, .. }) => {
                assert_ne!(nearest, compress.parse::<Compress>().unwrap());
                spec(0.0, 0.0, &nearest.to_string()).validate().unwrap();
            }
            Err(error) => panic!("{compress}: {error}"),
            Ok(()) => {}
        }
    }
}

#[test]
fn asks_that_contradict_each_other_are_refused_by_their_key() {
    let live = "dedupe = 50\nscope = \"live\"";
    for (toml, key, phrase) in [
        (format!("{live}\ndistance = \"all\""), "distance", "pool"),
        (format!("{live}\ndistance = \"recent\""), "distance", "pool"),
        (format!("{live}\nwindow = 100"), "window", "pool"),
        (format!("{live}\npopularity = \"zipf:1\""), "popularity", "die out"),
        (format!("{live}\ndomain = \"all\""), "domain", "target"),
        (format!("{live}\nmisaligned = 512"), "misaligned", "neighbour"),
        ("vdo_saving = 50\ncompress = \"2.5x\"".into(), "vdo_saving", "compress"),
        ("vdo_saving = 50\nblock = \"8k\"".into(), "vdo_saving", "4 KiB"),
        ("vdo_saving = 93".into(), "vdo_saving", "14 fragments"),
        ("vdo_saving = 80\nscope = \"live\"".into(), "vdo_saving", "random overwrites"),
        ("dedupe = 70\nzero = 30".into(), "dedupe", "no block to duplicate"),
        ("dedupe = 50\ndistance = \"all\"\nwindow = 9".into(), "window", "recent"),
        (
            "dedupe = 50\ndistance = \"previous\"\npopularity = \"cap:9\"".into(),
            "popularity",
            "previous",
        ),
        (
            "dedupe = 50\ndistance = \"1..9=1\"\npopularity = \"zipf:1\"".into(),
            "popularity",
            "histogram",
        ),
        ("dedupe = 90\npopularity = \"cap:9\"".into(), "popularity", "cap"),
        ("block = 1000".into(), "block", "power of two"),
        ("block = 256".into(), "block", "power of two"),
        ("misaligned = 4096".into(), "misaligned", "inside"),
        ("texture = \"interleaved:3000\"".into(), "texture", "chunk"),
        ("compress = \"5000=1\"".into(), "compress", "5000"),
        ("profile = \"nowhere.json\"".into(), "profile", "nowhere.json"),
        ("profile = \"p.json\"\ndedupe = 5".into(), "dedupe", "profile"),
        ("profile = \"p.json\"\nvdo_saving = 5".into(), "vdo_saving", "profile"),
    ] {
        let error = read(&toml).validate().expect_err(&toml);
        assert_eq!(error.key(), key, "{toml}: {error}");
        assert!(error.to_string().contains(phrase), "{toml}: {error}");
        assert!(error.help().len() > 10, "{toml}: {}", error.help());
    }
}

#[test]
fn words_and_shares_that_are_none_are_refused_when_read() {
    for toml in [
        "dedupe = 101",
        "scope = \"held\"",
        "distance = \"near\"",
        "popularity = \"zipf\"",
        "domain = \"disk\"",
        "texture = \"noise\"",
        "compress = 2.5",
        "flush = 3",
    ] {
        assert!(toml::from_str::<ContentSpec>(toml).is_err(), "{toml}");
    }
}

#[test]
fn the_nearest_saving_that_is_named_can_be_had() {
    for (toml, nearest) in [("vdo_saving = 99", 92.8), ("vdo_saving = 99\nscope = \"live\"", 76.7)]
    {
        let Err(ContentError::SavingUnreachable { nearest: named, .. }) = read(toml).validate()
        else {
            panic!("{toml} was not refused");
        };
        assert!((named.0 - nearest).abs() < 0.11, "{named}");
        ContentSpec { vdo_saving: Some(named), ..read(toml) }.validate().unwrap();
    }
}

#[test]
fn more_jobs_than_ids_tell_apart_are_refused() {
    let part = Part { generator: 0, jobs: 5000, blocks: 0 };
    let error = Contents::new(&ContentSpec::default(), Seed(1), part).unwrap_err();
    assert!(error.to_string().contains("4096"), "{error}");
    assert_eq!(error.key(), "jobs");
}

#[test]
fn what_people_should_know_is_said() {
    let warned = |toml: &str| -> Vec<String> {
        read(toml).warnings().iter().map(ToString::to_string).collect()
    };
    assert!(warned("dedupe = 50\ndistance = \"previous\"")[0].contains("128 KiB"));
    assert!(warned("dedupe = 50\nwindow = 20")[0].contains("20 distinct blocks"));
    assert!(warned("dedupe = 90\npopularity = \"cap:10\"")[0].contains("cap:11"));
    assert!(warned("compress = \"normal:100,300\"")[0].contains("replaced by the nearest"));
    assert!(warned("dedupe = 99\nvdo_saving = 90")[0].contains("254"));
    for fine in [
        "",
        "dedupe = 50",
        "dedupe = 50\nscope = \"live\"",
        "vdo_saving = 66",
        "dedupe = 90\npopularity = \"cap:11\"",
    ] {
        assert_eq!(warned(fine), [""; 0], "{fine}");
    }
    for near in [
        "distance = \"previous\"",
        "distance = \"100..200=1\"",
        "popularity = \"cap:30\"",
        "window = 4000",
    ] {
        let all = warned(&format!("dedupe = 50\nvdo_saving = 80\n{near}"));
        assert!(all.iter().any(|w| w.contains("within some 1536")), "{near}: {all:?}");
    }
    let short = |toml: &str, blocks, jobs| read(toml).length_warning(blocks, jobs);
    let message = short("dedupe = 90\nvdo_saving = 92", 8192, 1).unwrap().to_string();
    assert!(
        message.contains("36 contents of 819") && message.contains("88.0% instead of 92.0%"),
        "{message}"
    );
    assert_eq!(short("dedupe = 90\nvdo_saving = 92", 122_880, 1), None);
    assert!(short("dedupe = 90\nvdo_saving = 92", 122_880, 4).is_some());
    assert!(short("dedupe = 90\nvdo_saving = 92\ndomain = \"all\"", 122_880, 4).is_none());
    assert_eq!(short("dedupe = 90", 8192, 1), None);
    // Asked as a ratio, the packer saves as much, and loses as much.
    let ratio = short("dedupe = 90\ncompress = \"4x\"", 8192, 1).unwrap().to_string();
    assert!(
        ratio.contains("36 contents of 819") && ratio.contains("63.7% instead of 66.7%"),
        "{ratio}"
    );
    assert_eq!(short("dedupe = 90\ncompress = \"1.5x\"", 8192, 1), None, "nothing can be packed");
    let flush = Durable::Flush { every_blocks: 32, in_flight_blocks: 1 };
    let flushes = read("vdo_saving = 92.8").flush_warning(flush).unwrap().to_string();
    assert!(flushes.contains("92.8%") && flushes.contains("32"), "{flushes}");
    let fua = |every| read("vdo_saving = 50").flush_warning(Durable::Fua { every });
    let every = fua(1).unwrap().to_string();
    assert!(every.contains("saving of about 0%"), "{every}");
    assert!(fua(2).unwrap().to_string().contains("about 25%"), "every second is packed");
    assert_eq!(read("").flush_warning(flush), None);
    let mut source = Source::new(&read("dedupe = 50"), Seed(1), 0, 1);
    source.next_id(0);
    assert_eq!(source.position(), 1);
}
