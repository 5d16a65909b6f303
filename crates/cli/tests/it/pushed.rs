//! Results that are sent: whole or not at all, and a run that keeps what it could not send.

use std::fs;

use crate::program::{expect, fathom_in, fresh, text};

#[test]
fn a_result_is_sent_as_the_file_that_pack_makes_and_other_bytes_stay() {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--out", text(&out)]);
    let name = format!("{}.fathom", out.file_name().unwrap().to_str().unwrap());
    let store = dir.path().join("store");
    fs::create_dir(&store).unwrap();
    let packed = dir.path().join("p.fathom");
    expect(0, &["pack", text(&out), "-o", text(&packed)]);
    let answer = fathom_in(dir.path(), &["push", text(&out), text(&packed), "store", "--json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert_eq!(fs::read(store.join(&name)).unwrap(), fs::read(&packed).unwrap());
    assert_eq!(fs::read(store.join("p.fathom")).unwrap(), fs::read(&packed).unwrap());
    assert_eq!(fs::read_dir(&store).unwrap().count(), 2);
    let lines: Vec<serde_json::Value> =
        answer.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    for key in ["result", "place", "outcome", "bytes", "sha256", "complete", "unchanged"] {
        assert!(lines[0].get(key).is_some_and(|value| !value.is_null()), "{key}: {}", lines[0]);
    }
    assert_eq!(
        (&lines[0]["outcome"], &lines[0]["sha256"]),
        (&"stored".into(), &lines[1]["sha256"])
    );
    expect(0, &["show", text(&store.join(&name))]);
    let again = fathom_in(dir.path(), &["push", text(&out), "file:///proc/self/cwd/store"]);
    assert!(again.code == Some(0) && again.err.contains("there already"), "{}", again.err);
    // A result that was changed is other bytes, and is sent as it is.
    fs::write(out.join("experiment.toml"), "x = 1\n").unwrap();
    let before = fs::read(store.join(&name)).unwrap();
    let refused = fathom_in(dir.path(), &["push", text(&out), "store"]);
    assert_eq!(refused.code, Some(4), "{}", refused.err);
    assert!(refused.err.contains("--replace"), "{}", refused.err);
    assert_eq!(fs::read(store.join(&name)).unwrap(), before);
    let replaced = fathom_in(dir.path(), &["push", text(&out), "store", "--replace"]);
    assert_eq!(replaced.code, Some(5), "{}", replaced.err);
    assert!(replaced.err.contains("not as its run left it"), "{}", replaced.err);
    assert_ne!(fs::read(store.join(&name)).unwrap(), before);
}

#[test]
fn a_destination_that_cannot_be_meant_is_refused_before_anything_is_sent() {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--out", text(&out)]);
    let inside = format!("{}/cells", text(&out));
    fs::create_dir(dir.path().join("a")).unwrap();
    let twin = dir.path().join("a").join(out.file_name().unwrap());
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--out", text(&twin)]);
    fs::write(dir.path().join("file"), "x").unwrap();
    for (to, code, word) in [
        ("no-such", 2, "not a directory"),
        ("file", 2, "not a directory"),
        ("ftp://server/x", 2, "s3://"),
        ("https://me:secret@server/", 2, "FATHOM_PUSH_AUTHORIZATION"),
        ("s3://", 2, "bucket"),
        (&inside, 4, "elsewhere"),
    ] {
        let answer = fathom_in(dir.path(), &["push", text(&out), to]);
        assert_eq!(answer.code, Some(code), "{to}: {}", answer.err);
        assert!(
            answer.err.contains(word) && !answer.err.contains("secret@"),
            "{to}: {}",
            answer.err
        );
    }
    let both = fathom_in(dir.path(), &["push", text(&out), text(&twin), "a"]);
    assert_eq!(both.code, Some(2), "{}", both.err);
    assert!(both.err.contains("same name"), "{}", both.err);
}

#[test]
fn a_run_sends_its_result_at_its_end_and_keeps_what_it_could_not_send() {
    let (dir, out) = fresh();
    let run = |out: &str, to: &str| {
        let words = ["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--json", "--out", out];
        fathom_in(dir.path(), &[&words[..], &["--push", to]].concat())
    };
    fs::create_dir(dir.path().join("store")).unwrap();
    let answer = run("sent", "store");
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(dir.path().join("store/sent.fathom").exists());
    let last: serde_json::Value = serde_json::from_str(answer.out.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["outcome"]), (&"pushed".into(), &"stored".into()));
    // No resolver knows this name.
    let lost = run("kept", "http://store.invalid/");
    assert_eq!(lost.code, Some(3), "{}", lost.err);
    assert!(lost.err.contains("fathom push kept http://store.invalid/"), "{}", lost.err);
    expect(0, &["show", text(&dir.path().join("kept"))]);
    // A mistake is told before the run.
    let wrong = run(text(&out), "no-such");
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    assert!(!out.exists());
}
