//! Starts, stops, and questions.

use uvdo::{Backing, Error, Place, Server};
use volume::Policy;

use crate::served::{Served, backing, options, sound};

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
