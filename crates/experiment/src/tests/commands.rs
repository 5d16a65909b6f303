//! Tests of `do = "command"` and of `[corpora]`.

use units::{Bytes, Nanos};

use super::{only_mistake, plan};
use crate::ExperimentError;
use plan::CommandPlan;
use plan::Corpus;
use plan::Output;
use plan::Plan;

/// An experiment with a command in a file system; `stage` are the command's keys, `rest` comes before.
fn text(rest: &str, stage: &str) -> String {
    format!(
        "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"1G\"\n{rest}\n\
         [[stack]]\nlayer = \"linear\"\non = \"data\"\nsize = \"512M\"\n[[stack]]\nlayer = \"xfs\"\n\
         [[stage]]\ndo = \"command\"\nname = \"work\"\nmeasure = true\n{stage}\n"
    )
}

fn planned(rest: &str, stage: &str) -> Plan {
    plan(&text(rest, stage)).unwrap_or_else(|e: ExperimentError| panic!("{}", e.render(false)))
}

fn command(plan: &Plan) -> &CommandPlan {
    plan.cells[0].stages[0].command().unwrap()
}

/// Returns the report of the only mistake, whose place has to be in a line with `line`.
fn refused(rest: &str, stage: &str, line: &str) -> String {
    only_mistake(&text(rest, stage), line)
}

#[test]
fn a_program_gets_the_directory_of_its_target_and_of_corpora() {
    let plan = planned(
        "[corpora.docs]\npackage = \"vim-runtime\"",
        "argv = [\"cp\", \"-r\", \"{corpus.docs}\", \"{mount}/copy of {target}\"]\ntime_limit = \"2m\"\nsync = false",
    );
    let argv = command(&plan).argv_on("/mnt", |name| Some(format!("/corpora/{name}"))).unwrap();
    assert_eq!(argv, ["cp", "-r", "/corpora/docs", "/mnt/copy of /mnt"]);
    assert_eq!(command(&plan).argv_on("/mnt", |_| None).unwrap_err(), "docs");
    assert_eq!((command(&plan).time_limit, command(&plan).sync), (Nanos::from_secs(120), false));
    assert!(plan.cells[0].stages[0].settle, "a measured command is followed by rest");
    assert_eq!(plan.needs.corpora["docs"], Corpus::Package("vim-runtime".into()));
    assert_eq!(plan.needs.command_packages, ["coreutils"]);
    assert_eq!(plan.needs.programs, ["cp"]);
}

#[test]
fn a_script_is_run_by_a_shell_that_its_packages_bring() {
    let plan = planned("", "shell = \"echo ${HOME} {mount}\"\npackages = [\"git\"]");
    let argv = command(&plan).argv_on("/mnt", |_| None).unwrap();
    assert_eq!(argv, ["/bin/sh", "-c", "echo ${HOME} /mnt"]);
    assert_eq!(plan.needs.command_packages, ["git", "dash"]);
    let bash = "shell = \"ls\"\ninterpreter = \"/usr/bin/bash\"\npackages = [\"bash\"]";
    let plan = planned("", bash);
    assert_eq!(command(&plan).argv[0], "/usr/bin/bash");
    assert_eq!(plan.needs.command_packages, ["bash"]);
    assert_eq!(command(&plan).time_limit, Nanos::from_secs(600));
    assert!(command(&plan).sync);
}

#[test]
fn figures_are_picked_from_what_is_printed() {
    let figures = "argv = [\"ls\"]\n[stage.figures]\nfiles = { pattern = '(\\d+) files' }\nshared = { from = \"stderr\", pattern = 'shared: ([0-9.]+)' }";
    let plan = planned("", figures);
    let figures = &command(&plan).figures;
    assert_eq!((figures["files"].from, figures["shared"].from), (Output::Stdout, Output::Stderr));
    let mut picker = plan::FigurePicker::of(figures);
    for line in ["3 files", "12 files"] {
        picker.add_line(Output::Stdout, Some(line));
    }
    picker.add_line(Output::Stderr, Some("shared: 7.5"));
    assert_eq!(picker.found(), [("files".to_owned(), 12.0), ("shared".to_owned(), 7.5)].into());
}

#[test]
fn a_directory_can_be_a_corpus() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("deep")).unwrap();
    std::fs::write(dir.path().join("deep/file"), [7; 5000]).unwrap();
    let path = dir.path().canonicalize().unwrap();
    let corpus = format!("[corpora.mine]\npath = \"{}\"", path.display());
    let plan = planned(&corpus, "argv = [\"cp\", \"-r\", \"{corpus.mine}\", \"{mount}\"]");
    assert_eq!(plan.needs.corpora["mine"], Corpus::Directory { path, bytes: Bytes(5000) });
}

#[test]
fn a_corpus_can_be_made_and_differ_between_variants() {
    let reads = "argv = [\"ls\", \"{corpus.t}\"]";
    let made = "[corpora.t]\nsize = \"64M\"\nfile_size = \"4k..1M\"\ncontent = { dedupe = \"30%\", compress = \"2x\" }\n\
                copies = 4\nchanged_blocks = \"5%\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nset.\"corpus.t.copies\" = 8";
    let plan = planned(made, reads);
    let Corpus::Made(spec) = plan.needs.corpora.values().next().unwrap() else { panic!() };
    assert_eq!(
        spec.describe(),
        "64 MiB in files of 4 KiB to 1 MiB; 4 trees, each with 5% of its blocks changed from the first"
    );
    assert_eq!(plan.needs.corpora.len(), 2, "each variant has its own");
    let travelled: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(travelled.needs, plan.needs);
}

#[test]
fn mistakes_in_a_corpus_that_is_made_are_told_at_their_keys() {
    let reads = "argv = [\"ls\", \"{corpus.t}\"]";
    for (keys, at, phrase) in [
        ("size = \"5G\"", "size", "a corpus may take 4 GiB"),
        ("size = \"0\"", "size", "0 B has no files"),
        ("size = \"1G\"\nfile_size = \"1k\"", "file_size", "more than 200,000 files"),
        ("size = \"1M\"\nfile_size = \"2M..1M\"", "file_size", "smaller one first"),
        ("size = \"1M\"\nlevels = 9", "levels", "levels cannot be 9"),
        ("size = \"1M\"\ncopies = 1", "copies", "copies cannot be 1"),
        (
            "size = \"1M\"\ncopies = 2\ngenerations = 2",
            "generations",
            "either copies or generations",
        ),
        ("size = \"1M\"\nchanged_files = \"5%\"", "changed_files", "for a corpus with generations"),
        ("size = \"1M\"\ncontent = { dedupe = \"200%\" }", "content", "200%"),
        ("size = \"1M\"\ncontent = { profile = \"none.json\" }", "corpora.t", "none.json"),
        ("size = \"1M\"\ncolour = 1", "colour", "has no key 'colour'"),
    ] {
        let message = refused(&format!("[corpora.t]\n{keys}"), reads, at);
        assert!(message.contains(phrase), "{keys}: {message}");
    }
}

#[test]
fn a_plan_with_commands_travels_and_is_explained() {
    let plan = planned(
        "[corpora.docs]\npackage = \"git\"",
        "argv = [\"cp\", \"-r\", \"{corpus.docs}\", \"{mount}\"]\nfigures.n.pattern = '(\\d+)'",
    );
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    let explained = crate::explain(&plan);
    let stage = &explained.variants[0].stages[0];
    assert!(
        stage.contains("cp -r {corpus.docs} {mount}") && stage.contains("then a sync"),
        "{stage}"
    );
}

#[test]
fn every_key_of_a_command_is_told_at_its_line_with_what_it_takes() {
    for (stage, line) in [
        ("argv = 5", "argv = 5"),
        ("argv = \"ls\"", "argv = \"ls\""),
        ("argv = [5]", "argv = [5]"),
        ("shell = [5]", "shell = [5]"),
        ("shell = \"ls\"\ninterpreter = 5", "interpreter = 5"),
        ("argv = [\"ls\"]\npackages = \"git\"", "packages = \"git\""),
        ("argv = [\"ls\"]\ntime_limit = \"long\"", "time_limit"),
        ("argv = [\"ls\"]\ntime_limit = \"25h\"", "time_limit"),
        ("argv = [\"ls\"]\ntime_limit = \"1ms\"", "time_limit"),
        ("argv = [\"ls\"]\nsync = \"yes\"", "sync"),
        ("argv = [\"ls\"]\nfigures = 5", "figures = 5"),
        ("argv = [\"ls\"]\nfigures.n = 5", "figures.n = 5"),
        ("argv = [\"ls\"]\nfigures.n.pattern = 5", "figures.n.pattern = 5"),
        ("argv = [\"ls\"]\nfigures.n.pattern = '\\d+'", "figures.n.pattern"),
        ("argv = [\"ls\"]\nfigures.n.pattern = '(\\d)(\\d)'", "figures.n.pattern"),
        ("argv = [\"ls\"]\nfigures.n.pattern = '(\\d'", "figures.n.pattern"),
        ("argv = [\"ls\"]\nfigures.n = { from = \"file\", pattern = '(a)' }", "figures.n"),
        ("argv = []", "argv = []"),
        ("shell = \" \"", "shell = "),
    ] {
        let message = refused("", stage, line);
        assert!(message.contains("takes") && message.contains("as in"), "{stage}\n{message}");
    }
}

#[test]
fn what_makes_no_command_is_told_with_what_to_write() {
    for (stage, line, phrase) in [
        ("", "[[stage]]", "neither argv nor shell"),
        ("argv = [\"ls\"]\nshell = \"ls\"", "shell = ", "both argv and shell"),
        ("argv = [\"ls\"]\ninterpreter = \"/bin/sh\"", "interpreter", "leave interpreter out"),
        (
            "argv = [\"ls\"]\npackages = [\"-oDir=/\"]",
            "packages",
            "not the name of a Debian package",
        ),
        ("argv = [\"ls\"]\npackages = [\"git-\"]", "packages", "as apt does"),
        ("argv = [\"ls\", \"{muont}\"]", "argv", "did you mean '{mount}'"),
        ("argv = [\"ls\", \"{corpus.docs}\"]", "argv", "add [corpora.docs]"),
        ("argv = [\"ls\"]\ntime_limt = \"1m\"", "time_limt", "did you mean 'time_limit'"),
        ("argv = [\"ls\"]\nfigures.n = { patern = '(a)' }", "figures.n", "pattern"),
        (
            "argv = [\"ls\"]\nfigures.\"a b\".pattern = '(a)'",
            "figures",
            "cannot be the name of a figure",
        ),
        ("argv = [\"ls\", \"{mount}\"]\ntarget = \"linear\"", "target", "'xfs' stands on it"),
    ] {
        let message = refused("", stage, line);
        assert!(message.contains(phrase), "{stage}\n{message}");
    }
    let device =
        text("", "argv = [\"ls\", \"{mount}\"]").replace("[[stack]]\nlayer = \"xfs\"\n", "");
    let message = plan(&device).unwrap_err().render(false);
    assert!(
        message.contains("is a block device") && message.contains("write {target}"),
        "{message}"
    );
}

#[test]
fn what_makes_no_corpus_is_told_with_what_to_write() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let file = format!("path = \"{}\"", file.display());
    let reads = "argv = [\"ls\", \"{corpus.t}\"]";
    for (keys, line, phrase) in [
        ("", "[corpora.t]", "either a package, a path or a size"),
        ("package = \"git\"\npath = \"/etc\"", "path = ", "either a package, a path or a size"),
        ("package = \"git\"\nlevels = 2", "levels = ", "either a package, a path or a size"),
        ("package = 5", "package = 5", "takes the name of a Debian package"),
        ("path = 5", "path = 5", "takes the path of a directory"),
        ("package = \"Git\"", "package = \"Git\"", "not the name of a Debian package"),
        ("path = \"/no/such/place\"", "path = ", "cannot be read"),
        (&file, "path = ", "is not a directory"),
        ("content = { dedupe = \"5%\" }", "[corpora.t]", "no key 'size', which it needs"),
        ("pakage = \"git\"", "pakage", "did you mean 'package'"),
    ] {
        let message = refused(&format!("[corpora.t]\n{keys}"), reads, line);
        assert!(message.contains(phrase), "{keys}\n{message}");
    }
    let git = "package = \"git\"";
    let message = refused(&format!("[corpora.t]\n{git}"), "argv = [\"ls\"]", "[corpora.t]");
    assert!(message.contains("Nothing uses the corpus 't'"), "{message}");
    let message = refused(
        &format!("[corpora.xfs]\n{git}"),
        "argv = [\"ls\", \"{corpus.xfs}\"]",
        "[corpora.xfs]",
    );
    assert!(message.contains("of a corpus and of a layer"), "{message}");
    let message = refused(&format!("[corpora.\"a b\"]\n{git}"), "argv = [\"ls\"]", "[corpora");
    assert!(message.contains("cannot be the name of a corpus"), "{message}");
    let message = refused("[[corpora]]", "argv = [\"ls\"]", "[[corpora]]");
    assert!(message.contains("corpora takes"), "{message}");
}

#[test]
fn every_key_of_a_command_and_of_a_corpus_is_described() {
    let page = include_str!("../../../../docs/experiments.md");
    for key in ["argv", "shell", "interpreter", "packages", "time_limit", "sync", "figures"] {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
    for words in ["[corpora.NAME]", "`package`", "`path`", "{mount}", "{target}", "{corpus.NAME}"] {
        assert!(page.contains(words), "{words}");
    }
}

/// Two commands that pick figures.
const PICKING: &str = "shell = \"ls\"\nfigures.files = { pattern = '(\\d+) files', unit = \"bytes\", better = \"lower\" }\n\
                       [[stage]]\ndo = \"command\"\nname = \"again\"\nmeasure = true\nshell = \"ls\"\n";

#[test]
fn a_figure_that_a_command_prints_can_be_asked_for_and_expected() {
    let asks = "[[question]]\nmetric = \"files\"\nstage = \"work\"\n[[question]]\nmetric = \"files\"\n\
                [[expect]]\nmetric = \"files\"\nabove = 2\nof = { stage = \"work\" }";
    let plan = planned("", &format!("{PICKING}{asks}"));
    assert_eq!(plan.facts.questions[0].metric, "files");
    let facts = plan.facts.picked_figure(Some("work"), "files").unwrap();
    assert_eq!((facts.unit, facts.better), (units::Unit::Bytes, units::Better::Lower));
    assert_eq!(plan.facts.picked_figure(Some("again"), "files"), None);
}

#[test]
fn a_figure_that_no_command_prints_is_told_with_those_that_are() {
    for (asks, line, phrase) in [
        ("[[question]]\nmetric = \"file\"", "metric", "did you mean 'files'?"),
        ("[[question]]\nmetric = \"zzzzzz\"", "metric", "figures of commands here: files"),
        (
            "[[question]]\nmetric = \"files\"\nstage = \"again\"",
            "metric",
            "'again' picks no figure 'files'",
        ),
        ("[[question]]\nmetric = \"files\"\nlayer = \"xfs\"", "layer", "takes no layer"),
        ("[[question]]\nmetric = \"files\"\nstage = \"wrok\"", "stage", "did you mean 'work'?"),
        ("[[expect]]\nmetric = \"fils\"\nabove = 1", "metric", "did you mean 'files'?"),
    ] {
        let message = refused("", &format!("{PICKING}{asks}"), line);
        assert!(message.contains(phrase), "{asks}: {message}");
    }
    for (figure, phrase) in [
        ("figures.iops = { pattern = '(1)' }", "a figure of Fathom's own"),
        ("figures.n = { pattern = '(1)', unit = \"miles\" }", "unit cannot be \"miles\""),
        ("figures.n = { pattern = '(1)', better = \"more\" }", "better cannot be \"more\""),
    ] {
        let message = refused("", &format!("shell = \"ls\"\n{figure}"), "figures");
        assert!(message.contains(phrase), "{figure}: {message}");
    }
}

#[test]
fn variants_factors_and_scales_bring_corpora_of_their_own() {
    let reads = "argv = [\"cp\", \"-r\", \"{corpus.files}\", \"{mount}/copy\"]";
    let corpus = "[corpora.files]\npackage = \"git\"\n";
    let variants = "[[variant]]\nname = \"small\"\n[[variant]]\nname = \"large\"\n\
                    set.\"corpus.files.package\" = \"vim-runtime\"";
    let words = |plan: &Plan| -> Vec<String> {
        let cells = plan.cells.iter().filter(|cell| cell.repeat == 1);
        let argv = |cell: &plan::CellPlan| cell.stages[0].command().unwrap().argv[2].clone();
        cells.map(argv).collect()
    };
    let both = planned(&format!("{corpus}{variants}"), reads);
    assert_eq!(words(&both), ["{corpus.files.git}", "{corpus.files.vim-runtime}"]);
    let package = |name: &str| Corpus::Package(name.to_owned());
    let corpora = &both.needs.corpora;
    assert_eq!(corpora["files.git"], package("git"));
    assert_eq!(corpora["files.vim-runtime"], package("vim-runtime"));
    let factor = "[[factor]]\nname = \"files\"\nkey = \"corpus.files.package\"\n\
                  levels = [\"git\", \"vim-runtime\", \"perl\"]";
    let crossed = planned(&format!("{corpus}{factor}"), reads);
    assert_eq!(crossed.cells.len(), 3);
    assert_eq!(crossed.needs.corpora.len(), 3);
    // Where all variants have the same one, its name stays.
    let scale = "[scale.lab]\nset.\"corpus.files.package\" = \"perl\"";
    let scaled = planned(&format!("{corpus}{scale}"), reads);
    assert_eq!(words(&scaled), ["{corpus.files}"]);
    assert_eq!(scaled.needs.corpora["files"], package("perl"));
    assert_eq!(scaled.facts.scaled, ["corpus.files.package = \"perl\""]);
}

#[test]
fn directories_of_one_name_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let path = folder.path().join(name).join("docs");
        std::fs::create_dir_all(&path).unwrap();
        path.canonicalize().unwrap().display().to_string()
    };
    let (one, two) = (make("one"), make("two"));
    let rest = format!(
        "[corpora.t]\npath = \"{one}\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
         set.\"corpus.t.path\" = \"{two}\""
    );
    let plan = planned(&rest, "argv = [\"ls\", \"{corpus.t}\"]");
    let names: Vec<&str> = plan.needs.corpora.keys().map(String::as_str).collect();
    assert_eq!(names, ["t.docs", "t.docs-2"]);
}

#[test]
fn what_cannot_be_set_of_a_corpus_is_told_where_it_is_set() {
    let reads = "argv = [\"ls\", \"{corpus.t}\"]";
    let variant = |set: &str| {
        format!(
            "[corpora.t]\npackage = \"git\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n{set}"
        )
    };
    for (set, phrase) in [
        ("set.\"corpus.t.package\" = \"no name!\"", "not the name of a Debian package"),
        ("set.\"corpus.t.package\" = 7", "package cannot be 7"),
        ("set.\"corpus.t.size\" = \"1G\"", "either a package, a path or a size"),
        ("set.\"corpus.t.path\" = \"/etc\"", "either a package, a path or a size"),
        ("set.\"corpus.t.colour\" = 1", "has no key 'colour'"),
        ("set.\"corpus.u.package\" = \"git\"", "corpora: corpus.t"),
    ] {
        let message = refused(&variant(set), reads, "set.");
        assert!(message.contains(phrase), "{set}: {message}");
    }
}

#[test]
fn files_and_plans_of_before_that_call_corpora_trees_are_read_alike() {
    let rest = "[corpora.files]\npackage = \"git\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
                set.\"corpus.files.package\" = \"perl\"";
    let reads = "argv = [\"ls\", \"{corpus.files}\"]";
    let before = |text: &str| text.replace("corpora", "trees").replace("corpus.", "tree.");
    let (old, new) = (planned(&before(rest), &before(reads)), planned(rest, reads));
    assert_eq!((&old.cells, &old.needs), (&new.cells, &new.needs));
    assert!(new.notes.is_empty());
    assert!(old.notes.len() == 1 && old.notes[0].contains("[corpora.X]"), "{:?}", old.notes);
    let plan: Plan = serde_json::from_str(&before(&serde_json::to_string(&new).unwrap())).unwrap();
    assert_eq!(plan.needs, new.needs);
    let argv = |plan: &Plan| command(plan).argv_on("/mnt", |name| Some(name.to_owned())).unwrap();
    assert_eq!(argv(&plan), argv(&new));
}
