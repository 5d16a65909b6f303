use std::path::Path;

use super::*;

fn sh(script: &str, bound: Bound) -> Kept {
    let mut command = command(&["sh", "-c", script].map(str::to_owned), bound);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    start(command).unwrap()
}

/// Lines of standard output, until there are so many.
fn lines(kept: &mut Kept, count: usize) -> Vec<String> {
    let mut text = String::new();
    let from = kept.stdout.as_mut().unwrap();
    while text.lines().count() < count || !text.ends_with('\n') {
        let mut bytes = [0; 64];
        let length = from.read(&mut bytes).unwrap();
        assert!(length > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
    text.lines().map(str::to_owned).collect()
}

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn dies(pid: &str) {
    let start = Instant::now();
    while lives(pid) {
        assert!(start.elapsed() < Duration::from_secs(60), "{pid} lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn peak(argv: &[&str]) -> u64 {
    let argv: Vec<_> = argv.iter().map(|&word| word.to_owned()).collect();
    let end = start(command(&argv, Bound::Tied)).unwrap().finish().unwrap();
    assert_eq!(end.reaped.unwrap().status.code(), Some(0));
    end.reaped.unwrap().peak_memory_bytes
}

#[test]
fn the_peak_memory_of_a_program_is_not_that_of_who_starts_it() {
    const MIB: usize = 1 << 20;
    let before = peak(&["true"]);
    let mine = std::hint::black_box(vec![1_u8; 64 * MIB]);
    let beside = peak(&["true"]);
    assert!(beside < 16 << 20 && beside.abs_diff(before) < 1 << 20, "{before}, {beside}");
    assert!(mine.iter().all(|&byte| byte == 1));
    let large = peak(&["dd", "if=/dev/zero", "of=/dev/null", "bs=48M", "count=1"]);
    assert!((48 << 20..64 << 20).contains(&large), "{large}");
}

#[test]
fn a_program_has_a_group_of_its_own_no_input_and_its_outputs() {
    // What a build tool lets its children inherit is none of ours: only the link must be gone.
    let script = "cat; ls -l /proc/$$/fd | grep -c socket; ps -o pgid= -p $$; exec >&2; echo wrong";
    let mut kept = sh(script, Bound::Tied);
    let (mut out, mut err) = (String::new(), String::new());
    kept.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    kept.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let words: Vec<_> = out.split_whitespace().collect();
    assert_eq!(words, ["0", &kept.pid().to_string()], "{out}");
    assert_eq!(err, "wrong\n");
    let end = kept.finish().unwrap();
    assert_eq!(end.reaped.unwrap().status.code(), Some(0));
    assert!(end.killed.is_empty() && end.left.is_empty(), "{end:?}");
}

#[test]
fn a_program_is_told_with_the_time_of_its_own_children() {
    let script = "(i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done); exit 3";
    let end = sh(script, Bound::Tied).finish().unwrap();
    let reaped = end.reaped.unwrap();
    assert_eq!(reaped.status.code(), Some(3));
    assert!(reaped.user + reaped.system > Duration::from_millis(5), "{end:?}");
    assert!(reaped.user + reaped.system < end.elapsed * 2, "{end:?}");
    assert!((100 << 10..4 << 30).contains(&reaped.peak_memory_bytes), "{end:?}");
}

#[test]
fn what_cannot_be_started_is_said_and_leaves_no_process() {
    let missing = start(command(&["fathom-no-such-program".into()], Bound::Free)).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    let mut elsewhere = command(&["true".into()], Bound::Free);
    elsewhere.current_dir("/no/such/directory");
    assert_eq!(start(elsewhere).unwrap_err().kind(), io::ErrorKind::NotFound);
}

/// Ways to leave a process behind; each prints the process's number.
const LEAVES: [&str; 4] = [
    "sleep 601 & echo $!",
    "setsid sh -c 'echo $$; exec sleep 601' &",
    "setsid sh -c 'setsid sh -c \"trap : TERM HUP; echo \\$\\$; while :; do sleep 601; done\" & exit' &",
    "nohup setsid -f sh -c 'echo $$; exec sleep 601'",
];

#[test]
fn whatever_a_program_starts_ends_with_it_and_is_named() {
    for leave in LEAVES {
        let mut kept = sh(&format!("{leave}\nsleep 0.3"), Bound::Free);
        let pid = lines(&mut kept, 1).remove(0);
        let end = kept.finish().unwrap();
        assert!(!lives(&pid), "{leave}");
        assert_eq!(end.reaped.unwrap().status.code(), Some(0), "{leave}");
        assert!(end.killed.iter().any(|name| name.contains("sleep 601")), "{leave}: {end:?}");
        assert_eq!(end.left, Vec::<String>::new());
    }
}

#[test]
fn all_of_it_is_killed_when_that_is_wished_and_when_it_is_dropped() {
    for leave in LEAVES {
        let mut kept = sh(&format!("{leave}\nsleep 602"), Bound::Free);
        let pid = lines(&mut kept, 1).remove(0);
        assert!(!kept.has_ended().unwrap() && lives(&pid));
        kept.kill();
        let end = kept.finish().unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&end.reaped.unwrap().status),
            Some(9)
        );
        assert!(!lives(&pid), "{leave}");
        let mut kept = sh(&format!("{leave}\nsleep 602"), Bound::Free);
        let pid = lines(&mut kept, 1).remove(0);
        drop(kept);
        assert!(!lives(&pid), "{leave}");
    }
}

#[test]
fn a_tied_program_dies_with_the_process_that_it_works_for_and_a_free_one_ends_its_work() {
    for leave in LEAVES {
        let mut kept = sh(&format!("echo $$\n{leave}\nsleep 602"), Bound::Tied);
        let pids = lines(&mut kept, 2);
        // As if this process had died.
        kept.link = UnixStream::pair().unwrap().0;
        pids.iter().for_each(|pid| dies(pid));

        let file = tempfile::NamedTempFile::new().unwrap();
        let wrote = || std::fs::metadata(file.path()).unwrap().len() > 0;
        let script = format!("{leave}\nsleep 1; echo y >{}", file.path().display());
        let mut kept = sh(&script, Bound::Free);
        let pid = lines(&mut kept, 1).remove(0);
        kept.link = UnixStream::pair().unwrap().0;
        dies(&pid);
        assert!(wrote(), "{leave}: it was not let end its work");
    }
}

#[test]
fn a_keeper_that_is_killed_takes_the_program_with_it_and_its_loss_is_told() {
    let mut kept = sh("echo $$; exec sleep 603", Bound::Tied);
    let pid = lines(&mut kept, 1).remove(0);
    kept.keeper.kill().unwrap();
    dies(&pid);
    let error = kept.finish().unwrap_err().to_string();
    assert!(error.contains("may still run"), "{error}");
}
