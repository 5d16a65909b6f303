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
    let again: crate::Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(again, plan);
}

#[test]
fn what_cannot_be_modelled_is_told_at_its_line_with_what_can() {
    for (wrong, said, help) in [
        ("like = \"floppy\"", "'floppy'", "hdd, ssd, nvme, memory"),
        ("like = { base = \"hdd\", rpm = 60 }", "'60'", "from 3600 to 15000"),
        ("like = { base = \"hdd\", dies = 4 }", "no such parameter", "rpm"),
        ("like = 5", "like", "hdd"),
        ("faults = [{ fault = \"slow\", factor = 4 }]", "Only a modelled disk", "like"),
        ("like = \"hdd\"\nfaults = [{ fault = \"rust\" }]", "faults", "fault = "),
        ("like = \"hdd\"\nfaults = [{ fault = \"full\", at = \"2G\" }]", "faults[0].at", "below"),
    ] {
        let whole = text(&format!("size = \"1G\"\n{wrong}"), "");
        let error = plan(&whole).expect_err(wrong);
        let [mistake] = &error.mistakes[..] else { panic!("{wrong}: {:?}", error.mistakes) };
        assert!(mistake.message.contains(said), "{wrong}: {}", mistake.message);
        assert!(mistake.help.as_ref().unwrap().contains(help), "{wrong}: {:?}", mistake.help);
        let line = whole[..mistake.span.as_ref().unwrap().start].matches('\n').count();
        assert_eq!(whole.lines().nth(line), wrong.lines().last(), "{wrong}");
    }
}

#[test]
fn variants_have_the_same_disks() {
    let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nset.\"device.data.like\" = \"ssd\"\n";
    let error = plan(&text("size = \"1G\"\nlike = \"hdd\"", variants)).unwrap_err();
    assert!(error.mistakes[0].message.contains("cannot differ between variants"));
}
