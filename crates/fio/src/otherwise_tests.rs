//! Things that fio does differently from what its options say, or from what a load of Fathom does: measured with fio 3.33.

use crate::tests::{one, problems, words};

#[test]
fn a_path_is_a_path_whatever_it_is_called() {
    for (lines, target) in [
        ("filename=null", "./null"),
        ("filename=./-", "./-"),
        ("directory=d\nfilename=null:-", "d/null d/-"),
        ("directory=d\\:e", "d:e/a.0.0"),
        ("filename=-x", "-x"),
    ] {
        let found = words(&format!("[a]\nsize=1m\n{lines}\n"));
        assert!(found.ends_with(&format!("-- {target}")), "{lines}: {found}");
    }
    for (text, start) in [
        ("[a]\nsize=1m\nfilename=x=50:y=50\n", "line 3: filename=x=50:y=50: its files have a ="),
        ("[a]\nsize=1m\nfilename=x=y\n", "line 3: filename=x=y"),
        ("[a]\nsize=1m\ndirectory=x=50\n", "line 3: directory=x=50"),
        ("[x=50]\nsize=1m\n", "line 1: [x=50]: its files have a ="),
        ("[a]\nsize=1m\nfilename=-\n", "line 3: filename=-: filename takes names of files"),
        ("[a]\nsize=1m\ndirectory=A:B\n", "line 3: directory=A:B: directory takes one directory"),
        ("[a]\nsize=1m\ndirectory=\n", "line 3: directory="),
    ] {
        let all = problems(text);
        assert!(all.len() == 1 && all[0].starts_with(start), "{text}: {all:?}");
    }
}

#[test]
fn jobs_at_once_do_on_their_targets_what_fios_do() {
    let of_all = words("[a]\nfilename=f:g\nsize=16m\nnumjobs=2\n");
    assert!(of_all.contains("--passes 1 --size 8M --jobs 2 --share own "), "{of_all}");
    let turns = |text: &str| one(text).in_fio.iter().any(|note| note.contains("in turn"));
    assert!(!turns("[a]\nfilename=f:g\nsize=16m\nnumjobs=2\n"));
    assert!(!turns("[a]\nfilename=f\nsize=16m\nnumjobs=2\n"));
    assert!(turns("[a]\nsize=16m\nnumjobs=2\n"));
    assert!(turns("[global]\nsize=1m\n[a]\nfilename=f\n[b]\nfilename=g\n"));
    for text in [
        "[global]\nsize=1m\nnumjobs=2\n[a]\nfilename=f\n[b]\nfilename=g\n",
        "[global]\nsize=1m\n[a]\nfilename=f\n[b]\nfilename=g\n[c]\nfilename=g\n",
    ] {
        let all = problems(text);
        assert!(all.len() == 1 && all[0].contains("share targets that others do not"), "{all:?}");
    }
}

#[test]
fn what_fio_was_measured_to_do_otherwise_is_done_refused_or_told() {
    let base = "[a]\nfilename=f\nsize=1m\n";
    let of_base = |lines: &str| one(&format!("{base}{lines}\n"));
    for (lines, word) in [
        ("rw=randrw\nrate_iops=500", "--limit 1000/s "),
        ("rw=rw\nrate=1m", "--limit 2M/s "),
        ("rw=randread\nrate=1m\nbsrange=4k-64k", "--limit 1M/s "),
        ("number_ios=100\nloops=2", "--ios 200 "),
        ("number_ios=0", "--passes 1 "),
    ] {
        let found = of_base(lines).words().join(" ");
        assert!(found.contains(word), "{lines}: {found}");
    }
    assert!(!of_base("number_ios=0").words().join(" ").contains("--ios"));
    for (lines, phrase) in [
        ("rw=rw", "rw=rw has a place for its reads and one for its writes"),
        ("rw=randrw\npercentage_random=50", "follows the random one before it"),
        ("rw=randread\npercentage_random=50", "follows the random one before it"),
        ("rw=randrw\nfsync=4", "fio does fsync:4 once the writes are there, and again after each"),
        ("rw=randrw\nrate_iops=500", "rate_iops holds for reads and for writes"),
        ("rw=read\nrate_iops=500\nrate_process=poisson", "begin when an I/O is sent"),
    ] {
        let load = of_base(lines);
        assert!(load.in_fio.iter().any(|note| note.contains(phrase)), "{lines}: {:?}", load.in_fio);
    }
    for lines in ["rw=read", "rw=randrw", "rw=randwrite\nfsync=4"] {
        let notes = of_base(lines).in_fio.join(" ");
        assert!(!notes.contains("a place for") && !notes.contains("fsync"), "{lines}: {notes}");
    }
    for (lines, start) in [
        ("rw=randrw\nrwmixread=70\nrate_iops=500", "line 6: rate_iops: each direction"),
        ("rw=randrw\nrate_iops=500\nrate_process=poisson", "line 5: rate_iops: each direction"),
        ("rw=randrw\nbs=4k,8k\nrate=1m", "line 6: rate: fio counts it in I/Os of the smallest"),
        ("bsrange=4k-64k\nrate_iops=500", "line 5: rate_iops: fio counts"),
        ("bssplit=4k/50:8k/50\nrate=1m\nrate_process=poisson", "line 5: rate: fio counts"),
        ("rate=,400k", "line 4: rate=,400k: rate takes one rate"),
        ("rate=400k,", "line 4: rate=400k,"),
        ("number_ios=100\ntime_based\nruntime=1", "line 4: number_ios changes nothing in fio"),
    ] {
        let all = problems(&format!("{base}{lines}\n"));
        assert!(all.len() == 1 && all[0].starts_with(start), "{lines}: {all:?}");
    }
}
