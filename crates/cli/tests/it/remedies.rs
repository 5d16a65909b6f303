//! The TOML that remedies of rules write can be followed: it parses, and an experiment with it has a plan.

use doctor::RuleAbout;
use experiment::{PlanOptions, Scale};
use results::model::Change;
use units::Seed;

/// A volume of the kind, and a load or a command on it.
const LOAD: &str = "[[stage]]\ndo = \"load\"\nname = \"w\"\nmeasure = true\nops = \"randread=50,randwrite=50\"\ncontent = { compress = \"3x\" }\n";
const COMMAND: &str =
    "[[stage]]\ndo = \"command\"\nname = \"w\"\nmeasure = true\nargv = [\"true\"]\n";
const HEAD: &str = "about = \"Tests what remedies say\"\n[devices.data]\nsize = \"12G\"\n[devices.journal]\nsize = \"1G\"\n";

/// Returns the keys and values that a text writes as TOML.
fn fragments(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" = ") {
        let word = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
        let key = &before[before.trim_end_matches(word).len()..];
        let end = match after.chars().next() {
            Some('"') => after[1..].find('"').map(|at| at + 2),
            Some('{') => after.find('}').map(|at| at + 1),
            _ => after.find(|c: char| !c.is_ascii_alphanumeric()),
        };
        let (value, behind) = after.split_at(end.unwrap_or(after.len()));
        found.push((key.to_owned(), value.to_owned()));
        rest = behind;
    }
    found
}

/// Returns the line with the key `is` that a stage with a remedy's `state` needs, too; empty for other values.
fn state(rule: &RuleAbout, value: &str) -> &'static str {
    match rule.layer {
        _ if value != "\"state\"" => "",
        Some("lvmcache" | "bcache") => "is = \"empty\"\n",
        _ => "is = \"steady\"\n",
    }
}

/// Returns an experiment of the kind that a rule looks at, with one of its remedies followed.
fn followed(rule: &RuleAbout, (key, value): (&str, &str), beside: &str) -> String {
    let known = |kind: &str| layers::kind(kind).unwrap().keys.iter().any(|known| known.name == key);
    let stack = match rule.layer {
        Some("lvmcache") => {
            "layer = \"lvmcache\"\non = { origin = \"data\", cache = \"journal\" }\ncache_size = \"512M\"\n"
        }
        Some("bcache") => "layer = \"bcache\"\non = { origin = \"data\", cache = \"journal\" }\n",
        _ if key == "on" => "layer = \"vdo\"\nvia = \"table\"\nlogical_size = \"1G\"\n",
        _ => "layer = \"vdo\"\non = \"data\"\nlogical_size = \"1G\"\n",
    };
    let of_command = rule.id == "command_not_synced";
    let stage = if of_command { COMMAND } else { LOAD };
    // Passes go over each block once, by the pattern that the remedy names or that of writes in order.
    let passes = if beside.contains("pattern") {
        "pattern = \"permutation\"\n"
    } else {
        "ops = \"write\"\n"
    };
    let stop = if key == "passes" { passes } else { "duration = \"10s\"\n" };
    let stop = if of_command { "" } else { stop };
    let (mut top, mut layer, mut added, mut more) =
        (String::new(), String::new(), String::new(), "");
    let line = format!("{key} = {value}\n");
    let state = state(rule, value);
    let first = format!("[[stage]]\n{line}{state}");
    match key {
        "repeat" => top = line,
        "do" if value == "\"load\"" => {}
        "do" => more = &first,
        "is" => {}
        "layer" => layers::kind(value.trim_matches('"')).map_or_else(|| panic!("{line}"), drop),
        "on" => layer = line,
        _ if known(rule.layer.unwrap_or("vdo")) => layer = line,
        _ => added = line,
    }
    // What a remedy sets takes the place of what is there.
    let without = |text: &str| -> String {
        let begins = format!("{key} = ");
        text.lines()
            .filter(|l| !l.starts_with(&begins) || ["do", "layer"].contains(&key))
            .map(|l| format!("{l}\n"))
            .collect()
    };
    let stage = if key == "passes" {
        stage.replace("ops = \"randread=50,randwrite=50\"\n", "")
    } else {
        stage.to_owned()
    };
    let stage = if stage.contains("ops = ") || of_command || stop.contains("ops = ") {
        stage
    } else {
        format!("{stage}ops = \"randwrite\"\n")
    };
    let (mut stack, stage) = (without(stack), without(&stage));
    if !state.is_empty() {
        // A steady volume is filled past half of its pool.
        stack = stack.replace("\"1G\"", "\"4G\"");
    }
    let journal = if stack.contains("journal") || layer.contains("journal") {
        HEAD.to_owned()
    } else {
        HEAD.replace("[devices.journal]\nsize = \"1G\"\n", "")
    };
    format!("name = \"x\"\n{top}{journal}[[stack]]\n{stack}{layer}{more}{stage}{stop}{added}")
}

#[test]
fn whatever_a_remedy_writes_as_toml_can_be_followed_where_it_is_given() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for rule in doctor::rules() {
        for (key, value) in fragments(rule.remedy) {
            let text = followed(&rule, (&key, &value), rule.remedy);
            let choices = PlanOptions {
                seed: Seed(1),
                run_tag: "00000000".into(),
                repeat: None,
                sizes: Default::default(),
                scale: Scale::Usual("lab"),
                only: Vec::new(),
            };
            seen += 1;
            if let Err(error) = experiment::compose("x.toml", &text, &choices) {
                wrong.push(format!("{}: {key} = {value}\n{}", rule.id, error.render(false)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {seen}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen > 15, "only {seen} remedies write TOML");
}

#[test]
fn the_lines_of_changes_can_be_pasted_where_they_are_said_to_stand() {
    let change = |(key, value): (&str, &str)| Change { key: key.into(), value: value.into() };
    let faster = "{ size = \"12G\", like = { base = \"nvme\", power_loss_protection = true } }";
    let tail = "{ data = \"data\", tail = \"faster\" }";
    let tried: [&[(&str, &str)]; 4] = [
        &[("vdo.block_map_cache", "\"512M\"")],
        &[("random write.sync", "\"fsync:1000000\"")],
        &[("random write.depth", "4"), ("vdo.dedupe", "false")],
        // What the rule flush_time says.
        &[("devices.faster", faster), ("vdo.via", "\"table\""), ("vdo.on", tail)],
    ];
    for changes in tried {
        let changes: Vec<_> = changes.iter().copied().map(change).collect();
        let (top, settings): (Vec<_>, Vec<_>) =
            changes.iter().partition(|change| change.key.starts_with("devices."));
        let lines = |all: &[&Change]| all.iter().map(|c| c.line() + "\n").collect::<String>();
        let text = format!(
            "name = \"x\"\nabout = \"Tests what remedies say\"\n{}[devices.data]\nsize = \"12G\"\n\
             [[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"1G\"\n\
             [[variant]]\nname = \"as it was\"\n[[variant]]\nname = \"changed\"\n{}{}",
            lines(&top),
            lines(&settings),
            LOAD.replace("\"w\"", "\"random write\"") + "duration = \"10s\"\n",
        );
        let choices = PlanOptions {
            seed: Seed(1),
            run_tag: "00000000".into(),
            repeat: None,
            sizes: Default::default(),
            scale: Scale::Usual("lab"),
            only: Vec::new(),
        };
        if let Err(error) = experiment::compose("x.toml", &text, &choices) {
            panic!("{text}\n{}", error.render(false));
        }
    }
}
