//! Pushes to a directory, and to servers of HTTP PUT and S3 that live in the test.

#![allow(clippy::unwrap_used)]

#[path = "stores/server.rs"]
mod server;

use std::fs;
use std::path::Path;

use push::{Destination, Event, Kind, Outcome, Package, PushError};
use results::packed::MARK;
use server::{Behaviour, Server};

/// A file that begins as packed results do, of so many bytes that follow from `seed`.
fn package(dir: &Path, name: &str, bytes: usize, seed: u32) -> Package {
    let mut state = seed.wrapping_mul(2_654_435_761).max(1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    let rest: Vec<u8> = (MARK.len()..bytes).map(|_| next()).collect();
    let path = dir.join(format!("{name}-{seed}"));
    fs::write(&path, [MARK, &rest[..]].concat()).unwrap();
    Package::read(&path, name).unwrap()
}

/// Pushes, and returns the notes beside the outcome.
fn pushed(to: &Destination, one: &Package, replace: bool) -> (Result<Outcome, PushError>, String) {
    let (mut notes, mut last) = (String::new(), 0);
    let done = push::push(to, one, replace, &mut |event| match event {
        Event::At(at) => last = at,
        Event::Note(note) => notes += &format!("{note}\n"),
    });
    assert!(last == one.bytes || last == 0 || done.is_err(), "{last} of {}", one.bytes);
    (done, notes)
}

fn s3(server: &Server) -> Destination {
    let url = server.url();
    let env = |name: &str| match name {
        "AWS_ENDPOINT_URL" => Some(url.clone()),
        "AWS_ACCESS_KEY_ID" => Some("key".to_owned()),
        "AWS_SECRET_ACCESS_KEY" => Some("secret".to_owned()),
        _ => None,
    };
    Destination::read("s3://bucket/runs/", &env).unwrap()
}

fn http(server: &Server) -> Destination {
    let env = |name: &str| (name == push::AUTHORIZATION).then(|| "Bearer token".to_owned());
    // By its name, which the C library looks up, also in this static program.
    let url = server.url().replace("127.0.0.1", "localhost");
    Destination::read(&format!("{url}/bucket/runs"), &env).unwrap()
}

const KEY: &str = "/bucket/runs/r.fathom";

#[test]
fn every_store_gets_the_bytes_says_when_they_are_there_and_keeps_other_ones() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) =
        (package(dir.path(), "r.fathom", 70_000, 1), package(dir.path(), "r.fathom", 70_000, 2));
    let (first, second) = (Server::new(Behaviour::default()), Server::new(Behaviour::default()));
    let folder = tempfile::tempdir().unwrap();
    let place = Destination::Directory(folder.path().to_owned());
    let in_folder = || fs::read(folder.path().join("r.fathom")).unwrap();
    let on_first = || first.object(KEY).unwrap();
    let on_second = || second.object(KEY).unwrap();
    let stores: [(Destination, &dyn Fn() -> Vec<u8>); 3] =
        [(place, &in_folder), (s3(&first), &on_first), (http(&second), &on_second)];
    for (to, stored) in stores {
        assert_eq!(pushed(&to, &one, false).0.unwrap(), Outcome::Stored, "{to:?}");
        assert_eq!(stored(), fs::read(&one.path).unwrap(), "{to:?}");
        assert_eq!(pushed(&to, &one, false).0.unwrap(), Outcome::AlreadyThere, "{to:?}");
        let error = pushed(&to, &other, false).0.unwrap_err();
        assert_eq!(error.kind, Kind::Refused, "{to:?}: {error}");
        assert!(error.help.unwrap().contains("--replace"));
        assert_eq!(stored(), fs::read(&one.path).unwrap(), "{to:?}");
        assert_eq!(pushed(&to, &other, true).0.unwrap(), Outcome::Replaced, "{to:?}");
        assert_eq!(stored(), fs::read(&other.path).unwrap(), "{to:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");
    assert!(first.log().iter().all(|line| line.contains("X-Amz-Signature=")), "all are signed");
    assert!(second.log().iter().all(|line| line.contains("Bearer token")), "the header is sent");
}

#[test]
fn a_directory_keeps_what_is_no_result_and_loses_what_a_killed_push_left() {
    let dir = tempfile::tempdir().unwrap();
    let one = package(dir.path(), "r.fathom", 1000, 1);
    let folder = tempfile::tempdir().unwrap();
    let to = Destination::Directory(folder.path().to_owned());
    let left = folder.path().join(format!(".fathom-{}-abcdef", &one.sha256[..16]));
    fs::write(&left, "half").unwrap();
    fs::write(folder.path().join("r.fathom"), "mine").unwrap();
    assert_eq!(pushed(&to, &one, true).0.unwrap_err().kind, Kind::Refused);
    assert_eq!(fs::read(folder.path().join("r.fathom")).unwrap(), b"mine");
    fs::remove_file(folder.path().join("r.fathom")).unwrap();
    assert_eq!(pushed(&to, &one, false).0.unwrap(), Outcome::Stored);
    assert!(!left.exists());
    let missing = Destination::Directory(folder.path().join("no"));
    assert_eq!(missing.check().unwrap_err().kind, Kind::Usage);
    // A package that is no longer what was read goes nowhere.
    let changed = Package { name: "s.fathom".into(), ..package(dir.path(), "r.fathom", 1000, 3) };
    fs::write(&changed.path, "changed").unwrap();
    assert!(pushed(&to, &changed, false).0.unwrap_err().what.contains("was changed"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A result of three parts.
const LARGE: usize = 20 << 20;

#[test]
fn a_large_result_goes_in_parts_and_goes_on_after_a_broken_connection() {
    let dir = tempfile::tempdir().unwrap();
    let one = package(dir.path(), "r.fathom", LARGE, 1);
    // Each request for the third part breaks in its midst, as often as it is tried.
    let server = Server::new(Behaviour { break_part: Some((3, 5)), ..Behaviour::default() });
    let (done, notes) = pushed(&s3(&server), &one, false);
    let error = done.unwrap_err();
    assert_eq!(error.kind, Kind::Environment, "{error}");
    assert_eq!(notes.matches("again in").count(), 4, "{notes}");
    assert_eq!(server.object(KEY), None, "there is no half of it");
    let (done, notes) = pushed(&s3(&server), &one, false);
    assert_eq!(done.unwrap(), Outcome::Stored);
    assert!(notes.contains("2 of 3 parts are there"), "{notes}");
    assert_eq!(server.object(KEY).unwrap(), fs::read(&one.path).unwrap());
    let puts = |part: &str| {
        let part = format!("partNumber={part}&");
        server.log().iter().filter(|line| line.starts_with("PUT") && line.contains(&part)).count()
    };
    assert_eq!((puts("1"), puts("2"), puts("3")), (1, 1, 6));
    // The mark of the whole is that of its parts.
    let before = server.log().len();
    assert_eq!(pushed(&s3(&server), &one, false).0.unwrap(), Outcome::AlreadyThere);
    assert_eq!(server.log().len(), before + 1, "nothing was fetched to know it");
    // An upload of other bytes is not gone on with.
    let other = package(dir.path(), "r.fathom", LARGE, 2);
    server.behave(Behaviour { break_part: Some((2, 5)), ..Behaviour::default() });
    assert!(pushed(&s3(&server), &other, true).0.is_err());
    let third = package(dir.path(), "r.fathom", LARGE, 3);
    let (done, notes) = pushed(&s3(&server), &third, true);
    assert_eq!((done.unwrap(), notes.as_str()), (Outcome::Replaced, ""));
    assert_eq!(server.object(KEY).unwrap(), fs::read(&third.path).unwrap());
}

#[test]
fn what_came_there_meanwhile_stays() {
    let dir = tempfile::tempdir().unwrap();
    for (bytes, requests) in [(70_000, 1), (LARGE, 6)] {
        let one = package(dir.path(), "r.fathom", bytes, 1);
        let other = package(dir.path(), "r.fathom", bytes, 2);
        for (theirs, same) in [(&one, true), (&other, false)] {
            let bytes = fs::read(&theirs.path).unwrap();
            let late = Some((requests, KEY.to_owned(), bytes.clone()));
            let server = Server::new(Behaviour { late, ..Behaviour::default() });
            let done = pushed(&s3(&server), &one, false).0;
            match same {
                true => assert_eq!(done.unwrap(), Outcome::Stored),
                false => assert_eq!(done.unwrap_err().kind, Kind::Refused),
            }
            assert_eq!(server.object(KEY).unwrap(), bytes);
        }
    }
}

#[test]
fn an_answer_that_was_lost_is_found_out_and_no_mark_or_condition_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let forms: [fn(&Server) -> Destination; 3] = [s3, s3, http];
    for (to, bytes) in forms.into_iter().zip([70_000, LARGE, 70_000]) {
        let one = package(dir.path(), "r.fathom", bytes, 1);
        let server = Server::new(Behaviour { lost: 1, ..Behaviour::default() });
        let (done, notes) = pushed(&to(&server), &one, false);
        assert_eq!(done.unwrap(), Outcome::Stored, "{bytes}: {notes}");
        assert_eq!(notes.matches("again").count(), 1, "{bytes}: {notes}");
        assert_eq!(server.object(KEY).unwrap(), fs::read(&one.path).unwrap());
    }
    for bytes in [70_000, LARGE] {
        let one = package(dir.path(), "r.fathom", bytes, 1);
        let behaviour = Behaviour { own_marks: true, no_condition: true, ..Behaviour::default() };
        let server = Server::new(behaviour);
        assert_eq!(pushed(&s3(&server), &one, false).0.unwrap(), Outcome::Stored);
        assert_eq!(pushed(&s3(&server), &one, false).0.unwrap(), Outcome::AlreadyThere);
        let other = package(dir.path(), "r.fathom", bytes, 2);
        assert_eq!(pushed(&s3(&server), &other, false).0.unwrap_err().kind, Kind::Refused);
    }
}

#[test]
fn a_package_that_was_changed_goes_to_no_server() {
    let dir = tempfile::tempdir().unwrap();
    let forms: [fn(&Server) -> Destination; 2] = [s3, http];
    for to in forms {
        let one = package(dir.path(), "r.fathom", 70_000, 1);
        let mut bytes = fs::read(&one.path).unwrap();
        bytes[MARK.len()] ^= 1;
        fs::write(&one.path, bytes).unwrap();
        let server = Server::new(Behaviour::default());
        let error = pushed(&to(&server), &one, false).0.unwrap_err();
        assert!(error.what.contains("was changed"), "{error}");
        assert_eq!(server.object(KEY), None);
    }
}

#[test]
fn trouble_that_passes_is_tried_again_and_a_refusal_is_told_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let one = package(dir.path(), "r.fathom", 70_000, 1);
    let forms: [fn(&Server) -> Destination; 2] = [s3, http];
    for to in forms {
        let busy = Server::new(Behaviour { busy: 2, ..Behaviour::default() });
        let (done, notes) = pushed(&to(&busy), &one, false);
        assert_eq!(done.unwrap(), Outcome::Stored, "{notes}");
        assert_eq!(notes.matches("503").count(), 2, "{notes}");
        let closed = Server::new(Behaviour { refuse: Some(403), ..Behaviour::default() });
        let (done, notes) = pushed(&to(&closed), &one, false);
        let error = done.unwrap_err();
        assert!(error.kind == Kind::Environment && error.what.contains("403"), "{error}");
        assert_eq!((notes.as_str(), closed.log().len()), ("", 1));
    }
    // A bucket that is not there is told when something is put into it: before that, only the object is missing.
    let server = Server::new(Behaviour { no_bucket: true, ..Behaviour::default() });
    for bytes in [70_000, LARGE] {
        let one = package(dir.path(), "r.fathom", bytes, 1);
        let error = pushed(&s3(&server), &one, false).0.unwrap_err();
        assert!(error.what.contains("NoSuchBucket"), "{error}");
        assert!(error.help.unwrap().contains("make the bucket"));
    }
    // A put that breaks begins anew, and says so.
    let server = Server::new(Behaviour { break_put: 1, ..Behaviour::default() });
    let (done, notes) = pushed(&http(&server), &one, false);
    assert_eq!(done.unwrap(), Outcome::Stored);
    assert!(notes.contains("from its beginning"), "{notes}");
}

#[test]
fn a_server_that_is_not_there_is_told_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let one = package(dir.path(), "r.fathom", 1000, 1);
    // The name is reserved: no resolver knows it.
    let to = Destination::read("http://store.invalid/", &|_| None).unwrap();
    let error = pushed(&to, &one, false).0.unwrap_err();
    assert!(error.what.contains("store.invalid"), "{error}");
    assert!(error.help.unwrap().contains("network"));
}
