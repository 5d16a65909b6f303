//! Starts, stops, and questions.

use std::io::Write;

use uvdo::{Backing, Ended, Error, Place, Server};
use volume::Policy;

use crate::served::{LOGICAL, Served, backing, options, sound};
use crate::wire::{connected, error, exported, request};

#[test]
fn a_running_volume_answers_questions_and_changes_its_policy() {
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    let served = Served::start(&path, dir.path(), Policy::Async);
    let ask = |question: &str| uvdo::ask(&served.place, question);
    let text = ask("stats").unwrap();
    assert!(text.starts_with("{ version : 36, dataBlocksUsed : 0, "), "{text}");
    assert!(text.contains("mode : normal, ") && !text.contains("slabJournal"), "{text}");
    assert_eq!(ask("policy sync").unwrap(), "sync");
    let status: serde_json::Value = serde_json::from_str(&ask("status").unwrap()).unwrap();
    assert_eq!((&status["policy"], &status["mode"]), (&"sync".into(), &"normal".into()));
    assert_eq!(status["saving_percent"], serde_json::Value::Null, "nothing is stored");
    let metrics = ask("metrics").unwrap();
    assert!(metrics.contains("uvdo_biosIn_write 0\n") && metrics.ends_with("# EOF\n"), "{metrics}");
    for wrong in ["", "policy fast", "dance"] {
        let error = ask(wrong).unwrap_err();
        assert!(error.to_string().contains("does not know"), "{error}");
    }
    let place = served.place.clone();
    served.stop(&path);
    assert!(matches!(uvdo::ask(&place, "stats"), Err(Error::NotServed { .. })));
}

#[test]
fn what_is_no_volume_too_short_or_too_large_for_memory_is_refused_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    let place = Place::new(&dir.path().join("run"));
    let start = |options| Server::start(Backing::open(&path, true).unwrap(), &place, &options);
    let usual = || options(Policy::Sync);
    let little = uvdo::StartOptions { memory: Some(units::Bytes(1 << 20)), ..usual() };
    let Err(error) = start(little) else { panic!("it started") };
    assert!(error.help().contains("--memory"), "{error}");
    let settings = volume::Settings { index_records: 1 << 50, ..usual().settings };
    let Err(error) = start(uvdo::StartOptions { settings, ..usual() }) else {
        panic!("it started")
    };
    assert!(error.to_string().contains("are free"), "{error}");
    drop(start(usual()).unwrap());
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(300 << 20).unwrap();
    let Err(error) = start(usual()) else { panic!("it started") };
    assert!(matches!(error, Error::Short { .. }), "{error}");
    assert!(uvdo::check(Backing::open(&path, false).unwrap()).is_err());
    file.set_len(0).unwrap();
    file.set_len(300 << 20).unwrap();
    let Err(error) = start(usual()) else { panic!("it started") };
    assert!(error.to_string().contains("not a uvdo volume"), "{error}");
    assert!(error.help().contains("fathom uvdo create"), "{}", error.help());
}

#[test]
fn a_volume_that_was_cut_off_is_sound_and_recovers() {
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    for _ in 0..3 {
        let served = Served::start(&path, dir.path(), Policy::Async);
        served.cut();
        sound(&path);
    }
}

#[test]
fn a_backing_that_is_cut_short_while_it_is_served_is_noticed_whatever_is_asked_next() {
    const FLUSH: u16 = 3;
    const READ_ONLY: u16 = 2;
    for policy in [Policy::Sync, Policy::Async, Policy::AsyncUnsafe] {
        for question in ["flush", "status", "stop", "read"] {
            let dir = tempfile::tempdir().unwrap();
            let path = backing(dir.path());
            let served = Served::start(&path, dir.path(), policy);
            let mut stream = connected(&served);
            let (size, flags) = exported(&mut stream);
            assert_eq!((size, flags & READ_ONLY), (LOGICAL, 0));
            request(&mut stream, 1, 0, 4096);
            let block: Vec<u8> = (0..4096u32).map(|n| (n * n / 7) as u8).collect();
            stream.write_all(&block).unwrap();
            assert_eq!(error(&mut stream), 0);
            request(&mut stream, FLUSH, 0, 0);
            assert_eq!(error(&mut stream), 0);
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(1 << 16).unwrap();
            match question {
                "flush" => request(&mut stream, FLUSH, 0, 0),
                "read" => request(&mut stream, 0, 0, 4096),
                _ => {}
            }
            if ["flush", "read"].contains(&question) {
                assert_ne!(error(&mut stream), 0, "{policy:?} {question}");
            }
            if question != "stop" {
                let status: serde_json::Value =
                    serde_json::from_str(&uvdo::ask(&served.place, "status").unwrap()).unwrap();
                assert_eq!(status["mode"], "read-only", "{policy:?} {question}");
                let fault = status["fault"].as_str().unwrap();
                assert!(fault.contains("volume.img: it was cut short"), "{fault}");
                // The volume takes no more writes.
                request(&mut stream, 1, 0, 4096);
                stream.write_all(&block).unwrap();
                assert_eq!(error(&mut stream), 1);
                // A client that connects now learns it at once.
                let (_, flags) = exported(&mut connected(&served));
                assert_ne!(flags & READ_ONLY, 0, "{policy:?} {question}");
            }
            let message = uvdo::ask(&served.place, "stop").unwrap();
            assert!(
                message.starts_with("read-only: ") && message.contains("cut short"),
                "{message}"
            );
            let Ended::ReadOnly(Some(fault)) = served.ended() else { panic!("{policy:?}") };
            assert!(fault.contains("cut short"), "{fault}");
        }
    }
}

#[test]
fn records_that_a_cut_made_zeros_are_damage_although_the_backing_has_its_length_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    let served = Served::start(&path, dir.path(), Policy::Async);
    let mut stream = connected(&served);
    exported(&mut stream);
    request(&mut stream, 1, 0, 4096);
    stream.write_all(&[7; 4096]).unwrap();
    assert_eq!(error(&mut stream), 0);
    served.stop(&path);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let length = file.metadata().unwrap().len();
    // The superblocks stay, and the roots of the map.
    file.set_len(62 * 4096).unwrap();
    file.set_len(length).unwrap();
    match uvdo::check(Backing::open(&path, false).unwrap()) {
        Ok(report) => assert!(!report.problems.is_empty()),
        Err(error) => assert!(matches!(error, Error::Volume { .. }), "{error}"),
    }
    let place = Place::new(&dir.path().join("run"));
    let started =
        Server::start(Backing::open(&path, true).unwrap(), &place, &options(Policy::Async));
    assert!(matches!(started, Err(Error::Volume { .. })));
}
