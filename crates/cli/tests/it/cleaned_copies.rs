//! Devices that carry the mark of a killed run and are not its own, or are somebody else's by now: `clean` writes to none of them.

use std::fs;
use std::path::PathBuf;

use crate::cleaned::{SIZE, Scene, killed_while_it_works, tool, until};
use crate::program::{Answer, command, text};

/// Returns the file below the loop device of a killed run, detached and unmounted.
fn detached(ground: &Scene, mount: &str) -> PathBuf {
    let node = ground.disk.path.as_str();
    let backing = format!("/sys/block/{}/loop/backing_file", node.trim_start_matches("/dev/"));
    let file = fs::read_to_string(backing).unwrap_or_default().trim().to_owned();
    until("its command dies with it", || tool("umount", &[mount]));
    assert!(tool("losetup", &["--detach", node]) && tool("rmdir", &[mount]));
    file.into()
}

fn is_marked(ground: &Scene) -> bool {
    fs::read(&ground.disk.path).is_ok_and(|bytes| bytes.starts_with(b"XFSB"))
}

fn is_refused(ground: &Scene, phrase: &str) -> Answer {
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    let told = format!("{}{}", answer.out, answer.err);
    assert_eq!(answer.code, Some(6), "{told}");
    assert!(told.contains(phrase), "{phrase}: {told}");
    assert!(is_marked(ground), "{told}");
    answer
}

#[test]
fn neither_a_copy_with_the_tag_in_its_name_nor_a_device_of_another_size_is_wiped() {
    let name = "neither_a_copy_with_the_tag_in_its_name_nor_a_device_of_another_size_is_wiped";
    let Some(ground) = Scene::new(name) else { return };
    let (tag, mount) = killed_while_it_works(&ground);
    let file = detached(&ground, &mount);
    let copy = ground.at(&format!("disk-{tag}.img"));
    assert!(tool("cp", &["--sparse=always", text(&file), text(&copy)]));
    assert!(tool("losetup", &[&ground.disk.path, text(&copy)]));
    is_refused(&ground, "could not be looked at");
    assert!(tool("losetup", &["--detach", &ground.disk.path]));
    // The same file, grown: its end is of somebody else.
    fs::File::options().write(true).open(&file).unwrap().set_len(SIZE + (80 << 20)).unwrap();
    assert!(tool("losetup", &[&ground.disk.path, text(&file)]));
    is_refused(&ground, "bytes, and had");
    assert!(tool("losetup", &["--detach", &ground.disk.path]));
    fs::File::options().write(true).open(&file).unwrap().set_len(SIZE).unwrap();
    assert!(tool("losetup", &[&ground.disk.path, text(&file)]));
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert!(!is_marked(&ground));
}

#[test]
fn a_device_that_a_load_has_claimed_is_left_to_it() {
    let Some(ground) = Scene::new("a_device_that_a_load_has_claimed_is_left_to_it") else { return };
    let (_, mount) = killed_while_it_works(&ground);
    until("its command dies with it", || tool("umount", &[&mount]));
    let name = ground.disk.path.trim_start_matches("/dev/");
    let stat = format!("/sys/block/{name}/stat");
    let writes = || {
        let counts = fs::read_to_string(&stat).unwrap_or_default();
        counts.split_whitespace().nth(4).and_then(|count| count.parse().ok()).unwrap_or(0u64)
    };
    let before = writes();
    let load = ["load", &ground.disk.path, "--destroy-data", "--ops", "randwrite=100"];
    let mut load = command(
        &[&load[..], &["--offset", "64M", "--duration", "60s", "--limit", "50/s"]].concat(),
    )
    .stdout(std::process::Stdio::null())
    .stderr(std::process::Stdio::null())
    .spawn()
    .unwrap();
    until("the load never wrote", || writes() > before + 20);
    is_refused(&ground, "another run has claimed it");
    load.kill().unwrap();
    load.wait().unwrap();
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert!(!is_marked(&ground));
}

#[test]
fn what_a_result_no_longer_tells_is_named_and_marks_are_found_without_it() {
    let name = "what_a_result_no_longer_tells_is_named_and_marks_are_found_without_it";
    let Some(ground) = Scene::new(name) else { return };
    let (tag, _) = killed_while_it_works(&ground);
    let change = |file: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let _ = fs::remove_dir_all(ground.at("c"));
        assert!(tool("cp", &["-a", text(&ground.at("r")), text(&ground.at("c"))]));
        let path = ground.at("c").join(file);
        let mut value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut value);
        fs::write(&path, value.to_string()).unwrap();
        let answer = ground.fathom(&["clean", "c"]);
        (answer.code, format!("{}{}", answer.out, answer.err))
    };
    let (code, told) = change("manifest.json", &|manifest| {
        manifest["plan_document"] = serde_json::json!({});
    });
    assert!(code == Some(6) && told.contains("its plan could not be read"), "{told}");
    let (code, told) = change("manifest.json", &|manifest| {
        manifest.as_object_mut().unwrap().remove("devices");
    });
    assert!(code == Some(0) && told.contains("signature of the run on"), "{told}");
    // Numbers beyond the plan are no steps.
    let path = ground.at("c/transcript.jsonl");
    let line = fs::read_to_string(&path).unwrap().lines().next().unwrap().to_owned();
    let mut odd: serde_json::Value = serde_json::from_str(&line).unwrap();
    odd["step"] = serde_json::json!(1_000_000_000_000_u64);
    fs::write(&path, format!("{line}\n{odd}\n")).unwrap();
    let answer = ground.fathom(&["clean", "c"]);
    assert!(answer.out.contains("signature of the run on"), "{}{}", answer.out, answer.err);
    // What is taken down is noted first.
    fs::rename(&path, ground.at("elsewhere")).unwrap();
    std::os::unix::fs::symlink(ground.at("elsewhere"), &path).unwrap();
    let answer = ground.fathom(&["clean", "c", "--yes"]);
    assert!(answer.err.contains("nothing was taken down"), "{}{}", answer.out, answer.err);
    assert!(!ground.left(&tag).is_empty());
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
}

#[test]
fn settings_of_a_killed_run_are_never_taken_for_those_of_before() {
    let name = "settings_of_a_killed_run_are_never_taken_for_those_of_before";
    let Some(ground) = Scene::new(name) else { return };
    let queue = format!("/sys/block/{}/queue", ground.disk.path.trim_start_matches("/dev/"));
    let read_ahead = || fs::read_to_string(format!("{queue}/read_ahead_kb")).unwrap();
    let before = read_ahead();
    let experiment = "name = \"set\"\nabout = \"\"\n\
         [devices.data]\nsize = \"320M\"\nread_ahead_kb = 68\n\
         [[stack]]\nlayer = \"xfs\"\non = \"data\"\n\
         [[stage]]\ndo = \"command\"\nname = \"work\"\nmeasure = true\n\
         shell = \"touch {mount}/begun; sleep 600\"\n";
    fs::write(ground.at("set.toml"), experiment).unwrap();
    let device = format!("data={}", ground.disk.path);
    let run = ["run", "set.toml", "--destroy-data", &device, "--allow-commands"];
    let mut first = command(&[&run[..], &["--out", "r"]].concat())
        .current_dir(ground.dir.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mount = || ground.tag("r").map(|tag| format!("/run/fathom_{tag}_xfs"));
    until("it never began", || mount().is_some_and(|at| ground.at(&at).join("begun").exists()));
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(read_ahead(), "68\n");
    // Without its lines nothing says what to put back.
    assert!(tool("cp", &["-a", text(&ground.at("r")), text(&ground.at("cut"))]));
    fs::write(ground.at("cut/transcript.jsonl"), "").unwrap();
    let answer = ground.fathom(&["clean", "cut"]);
    assert_eq!(answer.code, Some(6), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("no line of the transcript tells"), "{}", answer.out);
    // Going on would note 68 as the value of before.
    until("its command dies with it", || tool("umount", &[&mount().unwrap()]));
    let answer = ground.fathom(&[&run[..], &["--resume", "r"]].concat());
    assert_eq!(answer.code, Some(4), "{}{}", answer.out, answer.err);
    assert!(answer.err.contains("value of the run in"), "{}", answer.err);
    let answer = ground.fathom(&["clean", "r", "--yes"]);
    assert_eq!((answer.code, read_ahead()), (Some(0), before), "{}{}", answer.out, answer.err);
}
