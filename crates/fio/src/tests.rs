use workload::LoadSpec;

use crate::{FioLoad, Problem, loads, read};

fn of(text: &str) -> Result<Vec<FioLoad>, Vec<Problem>> {
    read(text, |name| (name == "FIOTEST").then(|| "a".to_owned())).and_then(|file| loads(&file))
}

fn one(text: &str) -> FioLoad {
    let mut all = of(text).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The words of the only load of a job file in a line.
fn words(text: &str) -> String {
    one(text).words().join(" ")
}

fn problems(text: &str) -> Vec<String> {
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
    for said in ["unlink: files stay", "per_job_logs: ", "every job works on all targets"] {
        assert!(load.notes.iter().any(|note| note.starts_with(said)), "{said}: {:?}", load.notes);
    }
    assert!(load.in_fio[0].contains("can never be visited"));
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
            "rw=write\npercentage_random=25",
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
    let told = problems(text);
    for (line, word) in [
        (2, "latency_target"),
        (4, "size=1x"),
        (5, "blok is not known"),
        (6, "bss is not known: bs?"),
        (7, "rw=sideways"),
        (8, "ioengine=rbd"),
        (10, "runime is not known: runtime?"),
    ] {
        let found = told.iter().filter(|one| one.starts_with(&format!("line {line}: ")));
        assert!(
            found.clone().count() == 1 && found.clone().all(|one| one.contains(word)),
            "{line}: {told:?}"
        );
    }
    for (text, told) in [
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
        assert!(all[0].starts_with(told), "{text}: {all:?}");
    }
    // Switched off, an option without a counterpart asks for nothing.
    assert!(of("[a]\nsize=1m\nend_fsync=0\n").is_ok());
}

proptest::proptest! {
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
