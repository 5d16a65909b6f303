//! `fathom bisect` on simulated stacks: what it names, how it ends, how it goes on, and what it refuses.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::loop_device::loop_device;
use crate::program::{Answer, command, expect, fathom_in, fresh, skip, text};

/// An experiment of `n` variants, v1 to vn; those for which `slow` holds have a slower stack.
fn list(dir: &Path, n: usize, slow: impl Fn(usize) -> bool) -> PathBuf {
    let mut file = String::from(
        "name = \"list\"\nabout = \"a list\"\nrepeat = 5\n[devices.data]\nsize = \"7G\"\n\
         [[stage]]\ndo = \"load\"\nname = \"w\"\nmeasure = true\nops = { randwrite = 100 }\nduration = \"2s\"\n",
    );
    for at in 1..=n {
        let layer = if slow(at) {
            "layer = \"vdo\"\non = \"data\"\nlogical_size = \"1G\""
        } else {
            "layer = \"linear\"\non = \"data\"\nsize = \"1G\""
        };
        file += &format!("[[variant]]\nname = \"v{at}\"\n[[variant.stack]]\n{layer}\n");
    }
    let path = dir.join("list.toml");
    std::fs::write(&path, file).unwrap();
    path
}

/// The options of a simulated bisection of v1 to v8.
fn hunt<'a>(file: &'a Path, out: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let known = ["bisect", text(file), "--metric", "iops", "--simulate", "--seed", "7"];
    [&known[..], &["--out", text(out)], more].concat()
}

const ENDS: [&str; 4] = ["--good", "v1", "--bad", "v8"];

fn document(answer: &Answer) -> serde_json::Value {
    serde_json::from_str(&answer.out).unwrap_or_else(|e| panic!("{e}: {}", answer.out))
}

#[test]
fn the_first_slow_variant_is_named_with_every_measurement() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 8, |at| at >= 6);
    let answer = expect(0, &hunt(&file, &out, &ENDS));
    assert!(answer.out.contains("v6 is the first that is bad"), "{}", answer.out);
    for phrase in ["v5", "not measured", "03-v4-1", "the good end against itself: good"] {
        assert!(answer.out.contains(phrase), "{phrase}: {}", answer.out);
    }
    assert!(answer.err.contains("8 candidates, about 5 measurements"), "{}", answer.err);
    // The same command has nothing left to do, and says the same.
    let again = fathom_in(dir.path(), &hunt(&file, &out, &[&ENDS[..], &["--json"]].concat()));
    assert_eq!(again.code, Some(0), "{}", again.err);
    let report = document(&again);
    assert_eq!(
        (report["outcome"].as_str(), report["named"][0].as_str()),
        (Some("named"), Some("v6"))
    );
    let candidates = report["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 8);
    let word = |at: usize| candidates[at - 1]["step"]["word"].as_str();
    assert_eq!((word(4), word(5), word(6)), (Some("good"), Some("good"), Some("bad")));
    assert_eq!(word(2), None);
    let pairs = candidates[3]["step"]["pairs"].as_array().unwrap();
    assert!(pairs.len() >= 5 && pairs.iter().all(|pair| pair[0].as_f64().unwrap() > 0.0));
    // Each is a result like any other.
    let result = candidates[3]["step"]["results"][0].as_str().unwrap();
    expect(0, &["show", result]);
}

#[test]
fn the_mend_is_named_where_it_is_hunted() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 8, |at| at < 4);
    let ends = ["--good", "v8", "--bad", "v1", "--fixed"];
    let answer = expect(0, &hunt(&file, &out, &ends));
    assert!(answer.out.contains("v4 is the first that is good again"), "{}", answer.out);
}

#[test]
fn ends_that_do_not_differ_have_an_exit_code_of_their_own() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 4, |_| false);
    let answer = expect(7, &hunt(&file, &out, &["--good", "v1", "--bad", "v4"]));
    assert!(answer.out.contains("nothing to bisect"), "{}", answer.out);
    let (dir, out) = fresh();
    let file = list(dir.path(), 4, |at| at < 3);
    let answer = expect(7, &hunt(&file, &out, &["--good", "v1", "--bad", "v4"]));
    assert!(answer.out.contains("better than the good one"), "{}", answer.out);
}

#[test]
fn a_bisection_that_was_killed_goes_on_with_the_same_command_and_no_other() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 8, |at| at >= 6);
    let slowed = hunt(&file, &out, &[&ENDS[..], &["--pace", "0.01"]].concat());
    let mut child = command(&slowed).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // In the midst of a result of the second measurement.
    let began = Instant::now();
    while !out.join("02-itself-1/cells").exists() {
        assert!(began.elapsed() < Duration::from_secs(120), "the second measurement never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    let other = fathom_in(dir.path(), &hunt(&file, &out, &["--good", "v2", "--bad", "v8"]));
    assert_eq!(other.code, Some(2), "{}", other.err);
    assert!(other.err.contains("a bisection of another list"), "{}", other.err);
    let answer = expect(0, &hunt(&file, &out, &ENDS));
    assert!(answer.err.contains("1 results of an earlier call are kept"), "{}", answer.err);
    assert!(answer.out.contains("v6 is the first that is bad"), "{}", answer.out);
    let ends = std::fs::read_dir(&out).unwrap().flatten();
    let ends = ends.filter(|e| e.file_name().to_string_lossy().starts_with("01-ends"));
    assert_eq!(ends.count(), 1, "what was measured is kept");
}

#[test]
fn an_interrupt_ends_it_with_what_is_known() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 8, |at| at >= 6);
    let slowed = hunt(&file, &out, &[&ENDS[..], &["--pace", "0.01", "--json"]].concat());
    let child = command(&slowed).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !out.join("02-itself-1/cells").exists() {
        assert!(began.elapsed() < Duration::from_secs(120), "the second measurement never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["outcome"], &report["ends"]["word"]), (&"open".into(), &"bad".into()));
    expect(0, &hunt(&file, &out, &ENDS));
}

#[test]
fn what_cannot_be_bisected_is_refused_with_a_remedy_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let file = list(dir.path(), 8, |at| at >= 6);
    let file = text(&file);
    let simulated = ["bisect", file, "--simulate", "--out", "nowhere"];
    let iops = |more: &[&'static str]| [&simulated[..], &["--metric", "iops"], more].concat();
    for (args, phrases) in [
        (
            iops(&["--good", "v0", "--bad", "v8"]),
            &["The list has no 'v0'", "There are: v1; v2"][..],
        ),
        (iops(&["--good", "v1", "--bad", "v1"]), &["both name 'v1'"]),
        (iops(&["--good", "v8", "--bad", "v1"]), &["stands before", "--fixed"]),
        (
            iops(&["--good", "v1", "--bad", "v8", "--fixed"]),
            &["stands before", "leave --fixed out"],
        ),
        (iops(&["--good", "v1", "--bad", "v8", "--repeat", "1"]), &["5..=27"]),
        (iops(&["--good", "v1", "--bad", "v8", "--stage", "x"]), &["'x'"]),
        (iops(&["--good", "v1", "--bad", "v8", "--only", "v9"]), &["no variant 'v9'"]),
        (iops(&["--good", "v1"]), &["--bad"]),
        (
            [&simulated[..], &["--metric", "iopss"], &ENDS].concat(),
            &["iopss", "did you mean 'iops'"],
        ),
        (
            [&["bisect", file, "--metric", "iops"], &ENDS[..]].concat(),
            &["Nothing says where to measure", "--lab"],
        ),
        (
            [&["bisect", file, "--metric", "iops", "--kernels", "6.12"], &ENDS[..]].concat(),
            &["--kernels names one kernel"],
        ),
    ] {
        let answer = fathom_in(dir.path(), &args);
        assert_eq!(answer.code, Some(2), "{args:?}: {}", answer.err);
        for phrase in phrases {
            assert!(answer.err.contains(phrase), "{args:?}: '{phrase}' is not in {}", answer.err);
        }
        assert!(!dir.path().join("nowhere").exists(), "{args:?}");
    }
    // A figure of two operations: which is meant is asked before anything is measured.
    let one = std::fs::read_to_string(file).unwrap();
    let two = one.replace("randwrite = 100", "randwrite = 50, randread = 50");
    std::fs::write(file, two).unwrap();
    let answer = fathom_in(dir.path(), &iops(&ENDS));
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert!(
        answer.err.contains("several have iops: randread of w, randwrite of w"),
        "{}",
        answer.err
    );
    std::fs::write(file, one).unwrap();
    // A directory of something else stays as it is.
    std::fs::create_dir(dir.path().join("other")).unwrap();
    std::fs::write(dir.path().join("other/notes"), "mine").unwrap();
    let other = ["bisect", file, "--simulate", "--metric", "iops", "--out", "other"];
    let answer = fathom_in(dir.path(), &[&other[..], &ENDS].concat());
    assert_eq!(answer.code, Some(4), "{}", answer.err);
}

#[test]
fn a_step_answers_git_with_its_exit_code_and_no_error_is_taken_for_a_bad_commit() {
    let dir = tempfile::tempdir().unwrap();
    let file = list(dir.path(), 4, |at| at >= 3);
    let file = text(&file);
    let step = |candidate: &str, more: &[&str]| {
        let known = ["bisect", "step", file, "--metric", "iops", "--simulate", "--good", "v1"];
        let args = [&known[..], &["--candidate", candidate, "--out", "steps"], more].concat();
        fathom_in(dir.path(), &args)
    };
    let code = |answer: Answer, code: i32| {
        assert_eq!(answer.code, Some(code), "{}\n{}", answer.out, answer.err);
        answer
    };
    code(step("v2", &["--worse-by", "15%"]), 0);
    let bad = code(step("v4", &["--worse-by", "15%", "--json"]), 1);
    assert_eq!(document(&bad)["word"], "bad");
    assert!(
        dir.path().join("steps/step-001-1").is_dir()
            && dir.path().join("steps/step-002-1").is_dir()
    );
    code(step("v9", &["--worse-by", "15%"]), 128);
    code(step("v1", &["--worse-by", "15%"]), 128);
    code(step("v2", &["--worse-by", "100%"]), 128);
    code(step("v2", &["--worse-by", "much"]), 128);
    code(step("v2", &[]), 128);
    code(step("v2", &["--worse-by", "15%", "--out"]), 128);
    assert_eq!(fathom_in(dir.path(), &["bisect", "step", "--help"]).code, Some(0));
    code(step("v2", &["--worse-by", "15%", "--log", "no/such/place"]), 128);
    code(fathom_in(dir.path(), &["bisect", "--log", "log", "step", file]), 128);
    // The good one has no such figure above zero: that proves nothing about the candidate.
    let known = ["bisect", "step", file, "--simulate", "--good", "v1", "--candidate", "v4"];
    let errors = ["--worse-by", "15%", "--metric", "errors", "--out", "steps"];
    let errors = code(fathom_in(dir.path(), &[&known[..], &errors].concat()), 128);
    assert!(errors.err.contains("is not the candidate"), "{}", errors.err);
}

#[test]
fn only_results_of_the_steps_are_believed_and_nothing_else_in_the_directory() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 8, |at| at >= 6);
    let args = hunt(&file, &out, &ENDS);
    expect(0, &args);
    let known = out.join("bisect.json");
    let text = std::fs::read_to_string(&known).unwrap();
    assert!(!text.contains("pairs"), "what follows from the results is not kept twice: {text}");
    let (v4, v6, aside) = (out.join("03-v4-1"), out.join("04-v6-1"), out.join("aside"));
    let rename = |from: &Path, to: &Path| std::fs::rename(from, to).unwrap();
    let refused = |code: i32, phrase: &str| {
        let answer = fathom_in(dir.path(), &args);
        assert_eq!(answer.code, Some(code), "{phrase}: {}", answer.err);
        assert!(answer.err.contains(phrase) && answer.err.contains("help:"), "{}", answer.err);
    };
    // A good candidate's result in the place of a bad one's.
    rename(&v4, &aside);
    rename(&v6, &v4);
    rename(&aside, &v6);
    refused(5, "03-v4-1 is not a result of this step");
    // What is missing is measured again, and says the same as before.
    std::fs::remove_dir_all(&v4).unwrap();
    std::fs::remove_dir_all(&v6).unwrap();
    let again = expect(0, &args);
    assert!(again.out.contains("v6 is the first that is bad"), "{}", again.out);
    assert!(again.err.contains("2 results of an earlier call are kept"), "{}", again.err);
    // A result that was changed.
    let row = std::fs::read_dir(v4.join("cells")).unwrap().flatten().next().unwrap().path();
    let row = row.join("cell.json");
    let before = std::fs::read_to_string(&row).unwrap();
    std::fs::write(&row, format!("{before} ")).unwrap();
    refused(5, "is not as its run left it");
    std::fs::write(&row, before).unwrap();
    for (was, is, phrase) in [
        ("\"fathom_bisection\":1", "\"fathom_bisection\":2", "version is 2"),
        ("\"most\":27", "\"most\":0", "not valid"),
        ("\"threshold\":0.03", "\"threshold\":1e999", "holds no bisection"),
        ("\"seed\":7", "\"seed\":8", "another seed"),
    ] {
        assert!(text.contains(was), "{was}: {text}");
        std::fs::write(&known, text.replace(was, is)).unwrap();
        let answer = fathom_in(dir.path(), &args);
        assert!(matches!(answer.code, Some(2 | 5)), "{}", answer.err);
        assert!(answer.err.contains(phrase), "{phrase}: {}", answer.err);
    }
    // Another machine.
    std::fs::write(&known, &text).unwrap();
    let other = fathom_in(dir.path(), &[&args[..], &["--cpus", "2"]].concat());
    assert_eq!(other.code, Some(2), "{}", other.err);
    assert!(other.err.contains("a bisection of another machine"), "{}", other.err);
    // What would be waited for.
    std::fs::remove_file(&known).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&known).status().unwrap().success());
    refused(2, "a FIFO");
}

#[test]
fn the_page_of_a_bisection_has_the_list_with_every_pair() {
    let (dir, out) = fresh();
    let file = list(dir.path(), 4, |at| at >= 3);
    expect(0, &hunt(&file, &out, &["--good", "v1", "--bad", "v4"]));
    let page = dir.path().join("page.html");
    expect(0, &["report", text(&out), "-o", text(&page)]);
    let page = std::fs::read_to_string(page).unwrap();
    for phrase in [
        "v3 is the first that is bad",
        "the border is dashed",
        "Every pair in figures",
        "02-itself-1",
    ] {
        assert!(page.contains(phrase), "{phrase}");
    }
    let (head, _) = page.split_once("<main>").unwrap();
    let dots: usize = head
        .split("class=\"dots\" style=\"stroke-width:7;opacity:.65\" d=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().matches('M').count())
        .sum();
    assert_eq!(dots, 5 * 4, "the ends, the good end against itself, v2 and v3");
    // One that has only begun has a page, too.
    for gone in ["03-v2-1", "04-v3-1"] {
        std::fs::remove_dir_all(out.join(gone)).unwrap();
    }
    let page = dir.path().join("begun.html");
    expect(0, &["report", text(&out), "-o", text(&page)]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("stopped before it was decided") && page.contains("not measured"));
}

#[test]
fn git_names_the_slow_commit_among_sixteen_and_stops_where_something_else_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=n", "-c", "user.email=n@n"]).args(args);
        command.current_dir(dir.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").output()
    };
    if git(&["init", "-q"]).is_err() {
        let name =
            "git_names_the_slow_commit_among_sixteen_and_stops_where_something_else_is_wrong";
        return skip(name, "there is no git");
    }
    for at in 1..=16 {
        list(dir.path(), 2, |variant| variant == 2 && at >= 11);
        std::fs::write(dir.path().join("number"), at.to_string()).unwrap();
        git(&["add", "-A"]).unwrap();
        let name = format!("c{at}");
        assert!(git(&["commit", "-qm", &name]).unwrap().status.success());
        git(&["tag", &name]).unwrap();
    }
    let fathom = command(&[]).get_program().to_str().unwrap().to_owned();
    let bisect = |more: &str| {
        git(&["bisect", "reset"]).unwrap();
        for args in [&["bisect", "start"][..], &["bisect", "bad", "c16"], &["bisect", "good", "c1"]]
        {
            assert!(git(args).unwrap().status.success(), "{args:?}");
        }
        let step = format!(
            "test $(cat number) = 9 && exit 125; {fathom} bisect step list.toml --simulate --metric iops --good v1 \
             --candidate v2 --worse-by 15% --out ../steps-$$ {more}; code=$?; rm -rf ../steps-$$; exit $code"
        );
        let output = git(&["bisect", "run", "sh", "-c", &step]).unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (ended, messages) = bisect("");
    let named = git(&["rev-parse", "c11"]).unwrap().stdout;
    let named = format!("{} is the first bad commit", String::from_utf8_lossy(&named).trim());
    assert!(ended && messages.contains(&named), "{messages}");
    // A log that cannot be written proves nothing about a commit.
    for more in ["--log /nowhere/at/all", "--stage no_such", "--no-such-option"] {
        let (ended, output) = bisect(more);
        assert!(!ended && !output.contains("is the first bad commit"), "{more}: {output}");
    }
}

/// A real list: a journal of data, which writes each block twice, in the variants for which `slow` holds.
fn journals(dir: &Path, slow: impl Fn(usize) -> bool) -> PathBuf {
    let mut file = String::from(
        "name = \"journal\"\nabout = \"which writes twice\"\n[devices.data]\nsize = \"64M\"\n\
         [[stack]]\nlayer = \"ext4\"\non = \"data\"\n[[stage]]\ndo = \"layout\"\nname = \"files\"\nsize = \"8M\"\n\
         [[stage]]\ndo = \"load\"\nname = \"w\"\nmeasure = true\nfiles = \"files\"\ndirect = false\n\
         ops = { randwrite = 100 }\nblock_size = \"64k\"\npattern = \"permutation\"\npasses = 1\n",
    );
    for at in 1..=3 {
        file += &format!("[[variant]]\nname = \"v{at}\"\n");
        if slow(at) {
            file += "set.\"ext4.mount_options\" = \"data=journal\"\n";
        }
    }
    let path = dir.join("journal.toml");
    std::fs::write(&path, file).unwrap();
    path
}

#[test]
fn a_real_list_on_a_device_names_the_first_that_writes_twice_and_the_mend() {
    let name = "a_real_list_on_a_device_names_the_first_that_writes_twice_and_the_mend";
    let made = loop_device(96 << 20).filter(|_| Path::new("/sbin/mkfs.ext4").exists());
    let Some(disk) = made else {
        return skip(name, "no loop device can be made here, which needs root, or no ext4");
    };
    let device = format!("data={}", disk.path);
    let hunt = |file: &Path, out: &Path, more: &[&str]| {
        let known = ["bisect", text(file), "--metric", "device_written_bytes"];
        let place = ["--destroy-data", &device, "--repeat", "5", "--out", text(out)];
        expect(0, &[&known[..], &place, more].concat())
    };
    let (dir, out) = fresh();
    let answer = hunt(&journals(dir.path(), |at| at >= 2), &out, &["--good", "v1", "--bad", "v3"]);
    assert!(answer.out.contains("v2 is the first that is bad"), "{}", answer.out);
    let (dir, out) = fresh();
    let file = journals(dir.path(), |at| at < 3);
    let answer = hunt(&file, &out, &["--good", "v3", "--bad", "v1", "--fixed"]);
    assert!(answer.out.contains("v3 is the first that is good again"), "{}", answer.out);
}
