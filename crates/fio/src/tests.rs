use workload::LoadSpec;

use crate::{FioLoad, Problem, loads, read};

fn of(text: &str) -> Result<Vec<FioLoad>, Vec<Problem>> {
    read(text, |name| (name == "FIOTEST").then(|| "a".to_owned())).and_then(|file| loads(&file))
}

pub(crate) fn one(text: &str) -> FioLoad {
    let mut all = of(text).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The words of the only load of a job file in a line.
pub(crate) fn words(text: &str) -> String {
    one(text).words().join(" ")
}

pub(crate) fn problems(text: &str) -> Vec<String> {
    of(text).unwrap_err().iter().map(ToString::to_string).collect()
}

/// Reads the stage of a load as the keys of a load.
fn spec(load: &FioLoad) -> LoadSpec {
    let stage = load.stage();
    let keys: Vec<_> = stage.lines().skip(4).collect();
    toml::from_str(&keys.join("\n")).unwrap_or_else(|error| panic!("{stage}{error}"))
}

/// The job of the articles on lvmcache and bcache.
const CACHE: &str = "[partial]\nioengine=libaio\ndirect=1\niodepth=8\nnumjobs=2\nreadwrite=randread\nrandom_distribution=zipf:1.2\nbs=4k\nsize=2g\nunlink=1\nruntime=20m\ntime_based=1\nper_job_logs=1\nlog_avg_msec=500\nwrite_iops_log=/var/tmp/fio-${FIOTEST}\n";

/// The job of the paper on a virtual SAN.
const SAN: &str = "[global]\nioengine=libaio; async I/O engine for Linux\ndirect=1\nthread ; use thread rather than process\ngroup_reporting\n; Test name: 4K_rd70\nruntime=3600\ntime_based\nreadwrite=randrw\niodepth=8\nrwmixread=70\nblocksize=4096\nrandrepeat=0\nblockalign=4096\nbuffer_compress_percentage=0\ndedupe_percentage=0\n\n[job 1]\nfilename=/dev/sdb\nfilesize=25G\n[job 2]\nfilename=/dev/sdc\nfilesize=25G\n";

#[test]
fn the_job_files_that_the_sources_print_are_loads() {
    let load = one(CACHE);
    assert_eq!(
        load.words().join(" "),
        "load --backend libaio --depth 8 --ops randread=100 --pattern zipf:1.2 --block-size 4k \
         --duration 20m --interval 500ms --size 2G --jobs 2 -- partial.0.0 partial.1.0"
    );
    assert!(load.reads && !load.writes && load.targets[1].bytes == Some(2 << 30));
    assert!(load.in_fio.iter().any(|text| text.contains("every job works on all targets in turn")));
    for phrase in ["unlink: files stay", "per_job_logs: "] {
        assert!(
            load.notes.iter().any(|note| note.starts_with(phrase)),
            "{phrase}: {:?}",
            load.notes
        );
    }
    assert!(load.in_fio[0].contains("can never be visited"));
    assert!(!words(CACHE).contains("--share"));
    spec(&load).validate().unwrap();

    let load = one(SAN);
    assert_eq!(
        load.words().join(" "),
        "load --backend libaio --depth 8 --ops randread=70,randwrite=30 --pattern permutation \
         --block-size 4k --align 4k --duration 1h --size 25G --jobs 2 -- /dev/sdb /dev/sdc"
    );
    assert_eq!(load.names, ["job 1", "job 2"]);
    assert!(
        load.in_fio.iter().any(|text| text.contains("93 % of the 128 KiB")),
        "{:?}",
        load.in_fio
    );
    spec(&load).validate().unwrap();
    assert!(load.stage().contains("name = \"job-1-job-2\""), "{}", load.stage());
}

#[test]
fn what_fio_does_by_default_is_done_here_too() {
    assert_eq!(
        words("[a]\nsize=1m\n"),
        "load --backend sync --depth 1 --buffered --ops read=100 --block-size 4k --passes 1 --size 1M -- a.0.0"
    );
    // Sync engines have one I/O in flight, whatever is asked.
    let load = one("[a]\nsize=1m\niodepth=32\n");
    assert!(load.words().join(" ").contains("--depth 1 ") && load.notes[0].starts_with("iodepth"));
    // The last of several alike counts, and one in the job before one of [global].
    assert!(words("[global]\nbs=8k\nbs=16k\n[a]\nsize=1m\n").contains("--block-size 16k"));
    assert!(words("[global]\nbs=8k\n[a]\nsize=1m\nbs=2k\n").contains("--block-size 2k"));
}

#[test]
fn each_word_becomes_what_it_means() {
    let base = "[a]\nfilename=f\nsize=1g\nioengine=io_uring\ndirect=1\n";
    for (lines, words_of_it) in [
        (
            "rw=randwrite\nnorandommap\nloops=2\nnumjobs=2",
            "--ops randwrite=100 --pattern random --bytes 4G",
        ),
        ("rw=rw\nrwmixwrite=30", "--ops read=70,write=30"),
        (
            "rw=randwrite\npercentage_random=25",
            "--ops randwrite=25,write=75 --each randwrite.pattern=permutation",
        ),
        ("rw=randtrim", "--ops randdiscard=100"),
        ("rw=randread\nrandom_distribution=zoned:60/10:40/90", "--pattern zones:60%/10%,40%/90%"),
        ("rw=randread\nrandom_distribution=normal:5", "--pattern normal:5%"),
        ("rw=randread\nbssplit=4k/70:64k/30", "--pattern random --block-size 4k=70,64k=30"),
        ("rw=randread\nbssplit=4k/50:64k:8k", "--block-size 4k=50,64k=25,8k=25"),
        ("bsrange=4k-64k", "--block-size 4k..64k"),
        ("rw=randrw\nbs=4k,64k", "--each randread.block_size=4k;randwrite.block_size=64k"),
        ("offset=25%", "--offset 25%"),
        ("numjobs=4", "--jobs 4 --share own"),
        ("io_size=10m\nnumjobs=2\nloops=2", "--bytes 40M"),
        ("number_ios=100\nnumjobs=3", "--ios 300"),
        ("runtime=30\nramp_time=5", "--duration 35s --ramp 5s --passes 1"),
        ("rate_iops=500\nnumjobs=2", "--limit 1000/s"),
        ("rate=10m", "--limit 10M/s"),
        ("rate=1500", "--limit 1500B/s"),
        ("rate_iops=500\nrate_process=poisson", "--rate 500/s --arrival poisson"),
        ("thinktime=500\nthinktime_blocks=8", "--think 500us:8"),
        ("rw=randwrite\nfsync=32", "--sync fsync:32"),
        ("rw=randwrite\nsync=1", "--sync dsync"),
        ("rw=write\nverify=crc32c", "--verify after"),
        ("rw=randrw\nverify=md5", "--verify both"),
        (
            "rw=write\ndedupe_percentage=50\nbuffer_compress_percentage=60",
            "--dedupe 50% --compress 60%",
        ),
        ("rw=write\nzero_buffers", "--zero 100%"),
        ("iodepth=16\niodepth_batch=4\ncpus_allowed=0-1", "--depth 16 --batch 4 --cpus 0-1"),
    ] {
        let text = format!("{base}{lines}\n");
        let load = one(&text);
        let found = load.words().join(" ");
        let all = words_of_it.split(" --").map(|word| word.trim_start_matches("--"));
        for word in all {
            assert!(found.contains(&format!("--{word} ")), "{lines}: {word}: {found}");
        }
        spec(&load).validate().unwrap_or_else(|error| panic!("{lines}: {error}"));
    }
    assert!(words("[a]\nioengine=null\nsize=1g\n").ends_with("--size 1G -- null"));
    assert!(words("[a]\ndirectory=/mnt/x/\nsize=1g\n").ends_with("-- /mnt/x/a.0.0"));
    assert!(words("[a]\nfilename=/dev/a:/dev/b\\:c\n").ends_with("-- /dev/a /dev/b:c"));
}

#[test]
fn a_wall_parts_loads_and_what_runs_at_once_must_be_alike() {
    let text = "[global]\nsize=1g\n[write]\nfilename=f\nrw=write\n[read]\nfilename=f\nstonewall\nrw=randread\n";
    let all = of(text).unwrap();
    assert_eq!(all.iter().map(|load| load.names.join("+")).collect::<Vec<_>>(), ["write", "read"]);
    let both = problems(&text.replace("stonewall\n", ""));
    assert_eq!(both.len(), 1);
    assert!(both[0].starts_with("line 6: [read] runs at the same time as [write]"), "{both:?}");
}

#[test]
fn nothing_is_passed_over_and_each_mistake_is_told_with_its_line() {
    let text = "[global]\nlatency_target=5ms\n[a]\nsize=1x\nblok=4k\nbss=4k\nrw=sideways\nioengine=rbd\n[b]\nrunime=5\n";
    let found_problems = problems(text);
    for (line, word) in [
        (2, "latency_target"),
        (4, "size=1x"),
        (5, "blok is not known"),
        (6, "bss is not known: bs?"),
        (7, "rw=sideways"),
        (8, "ioengine=rbd"),
        (10, "runime is not known: runtime?"),
    ] {
        let found = found_problems.iter().filter(|one| one.starts_with(&format!("line {line}: ")));
        assert!(
            found.clone().count() == 1 && found.clone().all(|one| one.contains(word)),
            "{line}: {found_problems:?}"
        );
    }
    for (text, start) in [
        ("", "line 1: there is no job"),
        ("[global]\nbs=4k\n", "line 1: there is no job"),
        ("bs=4k\n[a]\n", "line 1: an option stands before"),
        ("[a\n", "line 1: a job's name"),
        ("[a]\nsize=${NOT}\n", "line 2: the environment has no variable NOT"),
        ("[a]\nbs=$pagesize\n", "line 2: $pagesize"),
        ("[a]\ninclude x.fio\n", "line 2: include"),
        ("[a]\ntime_based\n", "line 2: time_based needs a runtime"),
        ("[a]\nnrfiles=4\n", "line 2: nrfiles"),
        ("[a]\nfilename=f\nrw=randread\nnorandommap\n", "line 1: it has no end"),
    ] {
        let all = problems(text);
        assert!(all[0].starts_with(start), "{text}: {all:?}");
    }
    // Switched off, an option without a counterpart asks for nothing.
    assert!(of("[a]\nsize=1m\nend_fsync=0\n").is_ok());
}

#[test]
fn what_would_be_another_load_is_refused_with_its_line() {
    let base = "[a]\nfilename=f\nsize=1m\n";
    for (lines, start) in [
        // What a job that does not write would check is not there.
        ("rw=read\nverify=crc32c", "line 5: verify in [a], which writes nothing"),
        ("rw=read\nverify=crc32c\ndo_verify=0", "line 5: verify in [a], which writes nothing"),
        ("rw=randtrim\nverify=md5", "line 5: verify in [a], which writes nothing"),
        ("verify=md5", "line 4: verify in [a], which writes nothing"),
        // fio writes back each block that it trims.
        ("rw=trimwrite", "line 4: rw=trimwrite: fio writes each block right after"),
        ("rw=randtrimwrite", "line 4: rw=randtrimwrite: fio writes each block right after"),
        ("rw=randrandread", "line 4: rw=randrandread: rw is here one of"),
        // Two cadences.
        ("rw=write\nfsync=32\nfdatasync=8", "line 6: fdatasync beside fsync"),
        ("rw=write\nsync=1\nfsync=8", "line 6: fsync beside sync"),
        ("rw=write\nfsync=8\nfdatasync=4\nsync=none", "line 6: fdatasync beside fsync"),
        ("rw=write\nrate=1m\nrate_iops=10", "line 6: both rate and rate_iops"),
        ("bssplit=4k/50:8k/50\nbs=16k", "line 5: bs changes nothing in fio with bssplit"),
        ("bsrange=4k-8k\nblocksize=16k", "line 5: blocksize changes nothing in fio with bsrange"),
        ("bssplit=4k/50:8k/50\nbsrange=4k-8k", "line 5: bsrange changes nothing"),
        // The part of a file.
        ("offset=16m\nfilesize=16m", "line 5: filesize leaves nothing behind offset"),
        ("offset=25%\nfilesize=16m", "line 5: filesize together with a percentage"),
        ("filesize=50%", "line 4: filesize=50%"),
        ("rw=write\npercentage_random=25", "line 5: percentage_random changes nothing in fio"),
    ] {
        let all = problems(&format!("{base}{lines}\n"));
        assert!(all.len() == 1 && all[0].starts_with(start), "{lines}: {all:?}");
    }
    let twice = "[global]\nsize=1m\nverify=md5\n[w]\nrw=write\n[r]\nstonewall\nfilename=w.0.0\n";
    let all = problems(twice);
    assert!(all.len() == 1 && all[0].starts_with("line 3: verify in [r]"), "{all:?}");
    assert!(words("[a]\nsize=1m\nverify=0\n").ends_with("-- a.0.0"));
    for zones in [
        "50/5:30/15",
        "50/5:30/15:20/80:0/",
        "50/5:50/94",
        "50/50:50/51",
        "50/5:50/95,1/1",
        "50/0:50/100",
        "x/5:50/95",
        "50.5/50:49.5/50",
        "",
        "50/100:50/",
    ] {
        let options = of(&format!("{base}rw=randread\nrandom_distribution=zoned:{zones}\n"));
        assert!(options.is_err(), "{zones}");
    }
}

#[test]
fn an_option_that_is_switched_off_switches_off_no_other() {
    let base = "[a]\nfilename=f\nsize=1m\nrw=randwrite\n";
    for (lines, word) in [
        ("fsync=32\nsync=0", "--sync fsync:32 "),
        ("fsync=32\nfdatasync=0\nsync=none", "--sync fsync:32 "),
        ("fdatasync=8\nfsync=0", "--sync fdatasync:8 "),
        ("sync=dsync\nfsync=0", "--sync dsync "),
        ("fsync=32\nfsync=8", "--sync fsync:8 "),
        ("rate=1m\nrate_iops=0", "--limit 1M/s "),
        ("log_avg_msec=500\nlog_hist_msec=0", "--interval 500ms "),
        ("bs=4k\nbssplit=8k/50:16k/50", "--block-size 8k=50,16k=50 "),
        ("random_distribution=zoned:50/5:30/15:20/", "--pattern zones:50%/5%,30%/15%,20%/80% "),
        ("random_distribution=zoned:50/10:25/:25", "--pattern zones:50%/10%,25%/45%,25%/45% "),
    ] {
        let load = one(&format!("{base}{lines}\n"));
        let found = load.words().join(" ");
        assert!(found.contains(word), "{lines}: {found}");
        spec(&load).validate().unwrap_or_else(|error| panic!("{lines}: {error}"));
    }
    for off in ["fsync=32\nfsync=0", "fsync=0\nfdatasync=0\nsync=0", "rate=0"] {
        let found = words(&format!("{base}{off}\n"));
        assert!(!found.contains("--sync") && !found.contains("--limit"), "{off}: {found}");
    }
}

/// Options, the load of blocks of 64 KiB as measured with fio 3.33, the length of each file, and the end of the load that writes it.
const PARTS: &[(&str, &str, u64, &str)] = &[
    (
        "rw=read\nfilesize=30K",
        "--passes 1 --size 30k",
        30 << 10,
        "--block-size 32k --depth 8 --passes 1 --size 32k",
    ),
    (
        "rw=read\nsize=10300k",
        "--passes 1 --size 10300k",
        10_300 << 10,
        "--block-size 412k --depth 8 --passes 1 --size 10300k",
    ),
    (
        "rw=read\nsize=1g",
        "--passes 1 --size 1G",
        1 << 30,
        "--block-size 1M --depth 8 --passes 1 --size 1G",
    ),
    ("rw=read\noffset=8m\nsize=8m", "--offset 8M --passes 1 --size 8M", 16 << 20, "--size 16M"),
    ("rw=randread\nsize=8m\nfilesize=16m", "--size 16M --bytes 8M", 16 << 20, "--size 16M"),
    (
        "rw=randread\nsize=8m\nfilesize=16m\nnumjobs=2\nloops=2",
        "--size 16M --jobs 2 --share own --bytes 32M",
        16 << 20,
        "--size 16M",
    ),
    ("rw=read\nsize=8m\nfilesize=16m", "--size 16M --bytes 8M", 16 << 20, "--size 16M"),
    (
        "rw=read\noffset=8m\nsize=8m\nfilesize=16m",
        "--offset 8M --passes 1 --size 8M",
        16 << 20,
        "--size 16M",
    ),
    (
        "rw=randread\noffset=12m\nsize=8m\nfilesize=16m",
        "--offset 12M --pattern permutation",
        16 << 20,
        "--size 16M",
    ),
    (
        "rw=randread\noffset=12m\nsize=8m\nfilesize=16m",
        "--passes 1 --size 4M",
        16 << 20,
        "--size 16M",
    ),
    ("rw=randread\noffset=4m\nfilesize=16m", "--passes 1 --size 12M", 16 << 20, "--size 16M"),
    ("rw=randread\nsize=8m\nfilesize=4m", "--passes 1 --size 4M", 4 << 20, "--size 4M"),
    ("rw=randread\nfilename=f:g\nsize=16m", "--passes 1 --size 8M", 8 << 20, "--size 8M"),
    (
        "rw=randread\nfilename=f:g\nsize=8m\nfilesize=16m",
        "--size 16M --bytes 8M",
        16 << 20,
        "--size 16M",
    ),
    (
        "rw=randread\nfilename=f:g\nsize=40m\nfilesize=16m",
        "--passes 1 --size 16M",
        16 << 20,
        "--size 16M",
    ),
    (
        "rw=randread\nsize=8m\nfilesize=16m\ntime_based\nruntime=5",
        "--duration 5s --size 16M",
        16 << 20,
        "--size 16M",
    ),
    (
        "rw=read\nsize=8m\nfilesize=16m\ntime_based\nruntime=5",
        "--duration 5s --size 16M",
        16 << 20,
        "--size 16M",
    ),
    (
        "rw=read\nsize=8m\nfilesize=16m\nio_size=12m",
        "--size 16M --bytes 12M",
        16 << 20,
        "--size 16M",
    ),
    ("rw=read\nsize=8m\nfilesize=16m\nloops=3", "--size 16M --bytes 24M", 16 << 20, "--size 16M"),
    ("rw=randread\nsize=8m\nfilesize=0", "--passes 1 --size 8M", 8 << 20, "--size 8M"),
    (
        "rw=read\nsize=4k\nbs=4k\nzero_buffers",
        "--passes 1 --size 4k",
        4096,
        "--block-size 4k --depth 8 --passes 1 --zero 100% --size 4k",
    ),
];

#[test]
fn a_file_is_laid_out_whole_and_its_part_is_used_as_by_fio() {
    for (lines, used, whole, first) in PARTS {
        let load = one(&format!("[a]\nfilename=f\nbs=64k\n{lines}\n")
            .replace("filename=f\nbs=64k\nrw=randread\nfilename", "bs=64k\nrw=randread\nfilename"));
        let words = load.words().join(" ");
        for part in used.split(" --") {
            let part = part.trim_start_matches("--");
            assert!(words.contains(&format!("--{part} ")), "{lines}: {part}: {words}");
        }
        for target in &load.targets {
            assert_eq!(target.bytes, Some(*whole), "{lines}");
            let laid_out = load.laying_out(target).join(" ");
            assert!(laid_out.contains(&format!("{first} --")), "{lines}: {laid_out}");
        }
        let bounds = words.contains("--passes") as u8
            + words.contains("--bytes") as u8
            + words.contains("--duration") as u8;
        assert_eq!(bounds, 1, "{lines}: {words}");
        // A load that fits into the file.
        if !lines.contains("30K") {
            spec(&load)
                .check_target(*whole, 512)
                .unwrap_or_else(|error| panic!("{lines}: {error}"));
        }
    }
}

proptest::proptest! {
    #[test]
    fn a_file_of_any_length_is_laid_out_to_its_last_byte(bytes in 1_u64..1 << 42) {
        let load = one(&format!("[a]\nfilename=f\nsize={bytes}\n"));
        let words = load.laying_out(&load.targets[0]);
        let of = |option: &str| {
            let place = words.iter().position(|word| word == option).unwrap();
            crate::value::size(&words[place + 1]).unwrap()
        };
        let (size, block) = (of("--size"), of("--block-size"));
        assert!(size >= bytes && size - bytes < 4096 && size % block == 0, "{words:?}");
        assert!(block % 4096 == 0 && block <= 1 << 20, "{words:?}");
    }


    #[test]
    fn no_text_makes_it_panic(text in "(\\[[a-z]{0,3}\\]?\n|[a-z_]{0,9}(=[0-9a-z/:,%.-]{0,6})?\n|rw=rand(rw|read)\n|bs(range|split)?=[0-9k/:,-]{0,9}\n){0,9}") {
        let _ = of(&text);
    }
}

#[test]
fn the_documentation_names_every_option() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fio.md");
    let text = std::fs::read_to_string(path).unwrap();
    for (name, _) in crate::options::OPTIONS {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}
