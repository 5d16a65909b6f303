//! Tests of modelled devices.

use super::plan;

fn text(device: &str, rest: &str) -> String {
    format!(
        "name = \"x\"\nabout = \"x\"\n[devices.data]\n{device}\n[[stack]]\nlayer = \"linear\"\non = \"data\"\n\
         [[stage]]\ndo = \"load\"\nname = \"l\"\nops = {{ randread = 100 }}\nduration = \"1s\"\nmeasure = true\n{rest}"
    )
}

#[test]
fn a_device_is_modelled_as_it_says_and_the_plan_carries_it() {
    let like = "like = { base = \"hdd\", rpm = 5400, write_cache = false }";
    let faults = "faults = [{ fault = \"slow\", factor = 4 }]";
    let plan = plan(&text(&format!("size = \"1G\"\n{like}\n{faults}"), "")).unwrap();
    let model = plan.devices["data"].model.as_ref().unwrap();
    assert_eq!(model.like.to_string(), "hdd, rpm 5400, write_cache false");
    assert_eq!(model.faults, [disk::Fault::Slow { factor: 4.0 }]);
    let device = &plan.facts.variants[0].stack[0];
    assert_eq!(device.settings["like"], model.like.to_string());
    let again: plan::Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(again, plan);
}

/// The only mistake in these lines of a device says this, helps so, and is in the last of them.
fn refused(wrong: &str, phrase: &str, help: &str) {
    let whole = text(&format!("size = \"1G\"\n{wrong}"), "");
    let error = plan(&whole).expect_err(wrong);
    let [mistake] = &error.mistakes[..] else { panic!("{wrong}: {:?}", error.mistakes) };
    assert!(mistake.message.contains(phrase), "{wrong}: {}", mistake.message);
    assert!(mistake.help.as_ref().unwrap().contains(help), "{wrong}: {:?}", mistake.help);
    let line = whole[..mistake.span.as_ref().unwrap().start].matches('\n').count();
    assert_eq!(whole.lines().nth(line), wrong.lines().last(), "{wrong}");
}

#[test]
fn what_cannot_be_modelled_is_told_at_its_line_with_what_can() {
    for (wrong, phrase, help) in [
        ("like = \"floppy\"", "'floppy'", "hdd, ssd, nvme, memory"),
        ("like = { base = \"hdd\", rpm = 60 }", "'60'", "from 3600 to 15000"),
        ("like = { base = \"hdd\", dies = 4 }", "no such parameter", "rpm"),
        ("like = 5", "like", "hdd"),
        ("faults = [{ fault = \"slow\", factor = 4 }]", "Only a modelled disk", "like"),
        ("like = \"hdd\"\nfaults = [{ fault = \"rust\" }]", "faults", "fault = "),
        ("like = \"hdd\"\nfaults = [{ fault = \"full\", at = \"2G\" }]", "faults[0].at", "below"),
    ] {
        refused(wrong, phrase, help);
    }
}

#[test]
fn a_device_says_of_itself_what_it_is_asked_to_and_the_plan_carries_it() {
    let limit = "limit = { read_iops = 120, write_throughput = \"100M/s\" }";
    let keys = format!(
        "size = \"1G\"\n{limit}\nlogical_block = 4096\nrotational = true\nwrite_cache = false\ndiscard = false"
    );
    let mut plan = plan(&text(&keys, "")).unwrap();
    let attributes = &plan.devices["data"].attributes;
    assert_eq!(
        (attributes.limit.read_iops, attributes.limit.write_throughput),
        (Some(120), Some(disk::Throughput(100 << 20)))
    );
    assert_eq!((attributes.logical_block, attributes.rotational), (Some(4096), Some(true)));
    assert_eq!((attributes.write_cache, attributes.discard), (Some(false), Some(false)));
    let again: plan::Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(again, plan);
    let settings = |plan: &plan::Plan| plan.facts.variants[0].stack[0].settings.clone();
    assert_eq!(settings(&plan)["limit"], "120 reads/s, 100 MiB/s of writes");
    assert_eq!(crate::explain(&plan).devices[0].attributes["logical_block"], "4 KiB");
    // A device of the host is as it is.
    let without = plan.on_own_devices();
    let keys = ["limit", "logical_block", "rotational", "write_cache", "discard"];
    assert_eq!(without, [("data".to_owned(), keys.map(str::to_owned).to_vec())]);
    assert!(plan.devices["data"].attributes.is_usual());
    assert_eq!(settings(&plan).keys().collect::<Vec<_>>(), ["size"]);
}

#[test]
fn attributes_that_no_disk_has_are_told_at_their_line_with_what_there_is() {
    for (wrong, phrase, help) in [
        ("logical_block = 1024", "1024", "512 or 4096"),
        ("logical_block = \"4k\"", "logical_block", "512 or 4096"),
        ("rotational = \"yes\"", "rotational", "true or false"),
        ("discard = 1", "discard", "true or false"),
        ("limit = 100", "limit cannot be 100", "read_iops"),
        ("limit = { iops = 0 }", "limit.iops", "from 1"),
        ("limit = { iops = -5 }", "iops", "500"),
        ("limit = { iops = 10, write_iops = 5 }", "limit.iops", "write_iops"),
        ("limit = { reads = 10 }", "no key 'reads'", "read_iops"),
        ("limit = { throughput = \"fast\" }", "throughput", "100M/s"),
        ("limit = { throughput = \"100\" }", "limit.throughput", "64 KiB"),
    ] {
        refused(wrong, phrase, help);
    }
}

#[test]
fn variants_have_the_same_disks() {
    let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nset.\"device.data.like\" = \"ssd\"\n";
    let error = plan(&text("size = \"1G\"\nlike = \"hdd\"", variants)).unwrap_err();
    assert!(error.mistakes[0].message.contains("cannot differ between variants"));
}

#[test]
fn a_file_that_is_only_read_stays_as_it_is() {
    let file = "file = \"/dev/null\"\nlogical_block = 4096";
    let error = plan(&text(file, "")).unwrap_err().render(false);
    assert!(error.contains("stays as it is"), "{error}");
}

#[test]
fn a_load_stores_no_more_than_its_range_however_long_it_lasts() {
    let stored = |keys: &str| {
        let text = text("size = \"8G\"\nlike = \"ssd\"", "").replace("randread", "randwrite");
        plan(&format!("{text}{keys}\n")).unwrap().devices["data"].stored.0 >> 20
    };
    assert_eq!((stored("size = \"1G\""), stored("")), (1024 + 256 + 512, 8192));
}

#[test]
fn writes_are_recorded_of_a_device_that_asks_for_it_and_their_runs_are_known_of_no_other() {
    let question =
        "[[question]]\nmetric = \"device_write_run_bytes\"\nstage = \"l\"\nlayer = \"data\"\n";
    let picture = "[[picture]]\nshow = \"series\"\nlayer = \"data\"\nseries = [\"device_writes\", \"device_write_run_bytes\"]\n";
    let rest = format!("{question}{picture}");
    let planned = plan(&text("size = \"1G\"\nwrite_runs = true", &rest)).unwrap();
    let cell = &planned.cells[0];
    assert!(cell.probes.iter().any(|probe| probe.id == "machine.write_runs.data"));
    let recorded = |step: &layers::step::Step| step.action.show().contains("block_rq_issue");
    assert_eq!(cell.up.iter().filter(|step| recorded(step)).count(), 1);
    assert_eq!(planned.facts.variants[0].stack[0].settings["write_runs"], "true");
    for off in ["size = \"1G\"", "size = \"1G\"\nwrite_runs = false"] {
        for part in [question, picture] {
            let error = plan(&text(off, part)).expect_err(part).render(false);
            let message =
                "'device_write_run_bytes' is known only where writes to 'data' are recorded";
            assert!(error.contains(message) && error.contains("write_runs = true"), "{error}");
        }
        let without = plan(&text(off, "")).unwrap();
        assert!(!without.cells[0].up.iter().any(recorded));
    }
    let wrong = plan(&text("size = \"1G\"\nwrite_runs = 3", "")).unwrap_err().render(false);
    assert!(wrong.contains("true to record the length of runs of writes"), "{wrong}");
}
