//! Results in one file: read as they are, the same bytes each time, and never half a result.

use std::fs;
use std::process::Command;

use crate::program::{expect, fathom_in, fresh, json, text};

#[test]
fn a_packed_result_is_read_by_every_command_as_its_directory_is() {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--out", text(&out)]);
    let answer = fathom_in(dir.path(), &["pack", text(&out)]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let name = format!("{}.fathom", out.file_name().unwrap().to_str().unwrap());
    let packed = dir.path().join(&name);
    let plain: u64 = results::packed::size(&out).unwrap();
    assert!(fs::metadata(&packed).unwrap().len() * 5 < plain, "JSON packs well");
    // The same result makes the same bytes.
    let again = dir.path().join("again.fathom");
    expect(0, &["pack", text(&out), "-o", text(&again)]);
    assert_eq!(fs::read(&packed).unwrap(), fs::read(&again).unwrap());
    assert_eq!(json(&["show", text(&packed), "--json"]), json(&["show", text(&out), "--json"]));
    assert!(expect(0, &["doctor", text(&packed)]).out.contains("simulated"));
    let page = dir.path().join("page.html");
    expect(0, &["report", text(&packed), "-o", text(&page)]);
    assert!(fs::read_to_string(&page).unwrap().contains("vdo-vs-plain"));
    assert!(expect(0, &["trend", text(dir.path())]).out.contains("it belongs to the same run as"));
    // Back again, file by file.
    let back = dir.path().join("back");
    let unpacked = expect(0, &["unpack", text(&packed), "--out", text(&back)]);
    assert!(unpacked.err.contains("all of it as its run left it"), "{}", unpacked.err);
    let same = Command::new("diff").arg("-r").args([&out, &back]).status().unwrap();
    assert!(same.success());
    assert_eq!(fathom_in(dir.path(), &["unpack", text(&packed), "--out", "back"]).code, Some(4));
    // Other programs read it, too.
    let script = format!("zstd -dc {} | tar t", text(&packed));
    let listed = Command::new("sh").args(["-c", &script]).output().unwrap();
    if Command::new("zstd").arg("-V").output().is_ok_and(|out| out.status.success()) {
        assert!(String::from_utf8_lossy(&listed.stdout).contains("manifest.json"));
    }
}

#[test]
fn a_damaged_package_is_told_and_leaves_nothing_behind() {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--out", text(&out)]);
    let packed = dir.path().join("r.fathom");
    expect(0, &["pack", text(&out), "-o", text(&packed)]);
    let whole = fs::read(&packed).unwrap();
    let bad = dir.path().join("bad.fathom");
    for cut in [results::packed::MARK.len(), whole.len() / 3, whole.len() - 7] {
        fs::write(&bad, &whole[..cut]).unwrap();
        for args in [&["show", "bad.fathom"][..], &["unpack", "bad.fathom", "--out", "new"]] {
            let answer = fathom_in(dir.path(), args);
            assert_eq!(answer.code, Some(5), "{cut} {args:?}: {}{}", answer.out, answer.err);
            assert!(answer.err.contains("bad.fathom"), "{}", answer.err);
        }
    }
    // An archive that leads out of its directory, or holds links, is not accepted as a package.
    let archive = |make: &dyn Fn(&mut tar::Builder<Vec<u8>>)| {
        let mut builder = tar::Builder::new(Vec::new());
        make(&mut builder);
        let tar = builder.into_inner().unwrap();
        let packed = zstd::encode_all(&tar[..], 1).unwrap();
        fs::write(&bad, [results::packed::MARK, &packed].concat()).unwrap();
        fathom_in(dir.path(), &["unpack", "bad.fathom", "--out", "new"])
    };
    let outside = archive(&|builder| {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..9].copy_from_slice(b"../gotcha");
        header.set_size(2);
        header.set_cksum();
        builder.append(&header, &b"hi"[..]).unwrap();
    });
    assert_eq!(outside.code, Some(5), "{}", outside.err);
    let long = archive(&|builder| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(1 << 20);
        header.set_cksum();
        builder.append(&header, &vec![b'a'; 1 << 20][..]).unwrap();
    });
    assert_eq!(long.code, Some(5), "{}", long.err);
    let link = archive(&|builder| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        builder.append_link(&mut header, "manifest.json", "/etc/passwd").unwrap();
    });
    assert_eq!(link.code, Some(5), "{}", link.err);
    let mut left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    let name = out.file_name().unwrap().to_str().unwrap().to_owned();
    let mut kept = vec!["bad.fathom".to_owned(), name, "r.fathom".to_owned()];
    kept.sort();
    assert_eq!(left, kept);
    // None lies in the result that it holds.
    let inside = format!("{}/x.fathom", text(&out));
    assert_eq!(fathom_in(dir.path(), &["pack", text(&out), "-o", &inside]).code, Some(4));
    // A file of somebody else is not replaced.
    fs::write(dir.path().join("mine"), "keep").unwrap();
    let refused = fathom_in(dir.path(), &["pack", text(&out), "-o", "mine"]);
    assert_eq!(refused.code, Some(4), "{}", refused.err);
    assert_eq!(fs::read_to_string(dir.path().join("mine")).unwrap(), "keep");
}

#[test]
fn a_signal_in_the_midst_of_packing_reading_or_unpacking_leaves_nothing_behind() {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--out", text(&out)]);
    // Large enough to be interrupted: zeros pack well.
    fs::File::create(out.join("large")).unwrap().set_len(2 << 30).unwrap();
    let (place, scratch) = (dir.path().join("place"), dir.path().join("scratch"));
    for folder in [&place, &scratch] {
        fs::create_dir(folder).unwrap();
    }
    let packed = dir.path().join("large.fathom");
    expect(0, &["pack", text(&out), "-o", text(&packed)]);
    let names = |folder: &std::path::Path| fs::read_dir(folder).unwrap().count();
    let packing = ["pack", text(&out), "-o", "new.fathom"];
    for words in [&packing[..], &["show", text(&packed)], &["unpack", text(&packed)]] {
        for signal in ["INT", "TERM", "HUP", "KILL"] {
            let begun = || names(&place) + names(&scratch);
            let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
                .args(words)
                .current_dir(&place)
                .env("TMPDIR", &scratch)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            while begun() == 0 && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
            let id = child.id().to_string();
            assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
            let ended = child.wait().unwrap();
            assert!(!ended.success(), "{words:?} {signal} came too late");
            if signal != "KILL" {
                assert_eq!(begun(), 0, "{words:?} {signal}");
            }
        }
        // The next command removes what SIGKILL left, except the file of a package, which could be anybody's.
        if words[0] == "pack" {
            fs::read_dir(&place)
                .unwrap()
                .flatten()
                .for_each(|one| fs::remove_file(one.path()).unwrap());
        } else {
            expect_in(&place, &scratch, words);
            assert_eq!(names(&scratch), 0, "{words:?}");
            let _ = fs::remove_dir_all(place.join("large"));
            assert_eq!(names(&place), 0, "{words:?}");
        }
    }
}

fn expect_in(place: &std::path::Path, scratch: &std::path::Path, words: &[&str]) {
    let done = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(words)
        .current_dir(place)
        .env("TMPDIR", scratch)
        .output()
        .unwrap();
    // The large file does not belong to the result.
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_file_below_a_file_is_damage_and_a_full_disk_is_told_of_the_package() {
    let (dir, out) = fresh();
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "2", "--out", text(&out)]);
    let full = std::path::Path::new("/dev/full");
    let answer = fathom_in(dir.path(), &["pack", text(&out), "-o", text(full)]);
    assert!(
        answer.err.contains("/dev/full") && !answer.err.contains("Cannot read"),
        "{}",
        answer.err
    );
    assert_ne!(answer.code, Some(0));
}
