//! The progress of a comparison while it runs, and its table.

use crate::contest::ContestantKind;
use crate::goal::GoalVerdict;
use crate::outcome::{CaseOutcome, Outcome, Ratio, spread};
use crate::suite::Event;
use crate::verified::{Cost, Verified};
use stats::Figure;
use units::Nanos;

/// Describes the progress of a comparison.
pub struct Narrator {
    verbose: bool,
}

impl Narrator {
    /// Describes every run too when `verbose`.
    pub fn new(verbose: bool) -> Self {
        Self { verbose }
    }

    /// Returns the line about `event`, if there is one.
    pub fn line(&self, event: &Event) -> Option<String> {
        Some(match event {
            Event::Case { name, index, of, left } => {
                let left = Nanos(left.as_secs() * 1_000_000_000);
                format!("[{index}/{of}, about {left} left] {name}")
            }
            Event::Run { name, sample } if self.verbose => format!(
                "    {name:<32} {:>10.0} IOPS  {:>8.3} us/IO  {:>8.3} us/IO system  others {:>4.1} %",
                sample.reported.iops,
                sample.cpu_per_io_us,
                sample.system_per_io_us,
                100.0 * sample.foreign_share,
            ),
            Event::Run { .. } => return None,
            Event::Done(case) => row(case),
            Event::Note(text) => format!("    note: {text}"),
        })
    }
}

/// The whole table; with the command lines of the repeats, and all that were tried in each case when `verbose`.
pub fn text(outcome: &Outcome, verbose: bool) -> String {
    let mut text = format!("{}\n{}\n", outcome.machine, outcome.programs.fio.describe());
    text.push_str(
        "CPU per I/O counts all threads of the process, io_uring's workers included, starting left out; \
         'system' adds kernel threads and interrupts.\nRatios are fathom / fio's best, median over repeats \
         with its 95 % interval: CPU against the cheapest, IOPS against the fastest.\nThe floor is a program that \
         makes the same calls as fathom and does nothing else.\n\n",
    );
    for case in &outcome.cases {
        text.push_str(&format!("{}\n{}\n", case.name, row(case)));
        if verbose {
            text.push_str(&lines(case));
        }
        for side in &case.sides {
            text.push_str(&format!("      {}\n        {}\n", side.name, side.line));
        }
    }
    if !verbose && let Some(case) = outcome.cases.iter().max_by_key(|case| case.tried.len()) {
        let name = &case.name;
        text.push_str(&format!(
            "\nall that was tried in the short round of {name} (-v: of each case):\n"
        ));
        text.push_str(&lines(case));
    }
    if let Some(verified) = &outcome.verified {
        text.push_str(&verification(verified));
        if verbose {
            verified.lines.iter().for_each(|line| text.push_str(&format!("      {line}\n")));
        }
    }
    if !outcome.proportions.is_empty() {
        text.push_str("\nfio against what is known of fio:\n");
    }
    for p in &outcome.proportions {
        let word = if p.agrees { "agrees" } else { "DISAGREES" };
        let line =
            format!("  {:<9} {}: {:.2}, known {:.2}\n", word, p.about, p.measured, p.expected);
        text.push_str(&line);
        if !p.agrees && !p.hangs_on.is_empty() {
            text.push_str(&format!("            it depends on {}\n", p.hangs_on));
        }
    }
    for why in outcome.left_out.iter().chain(&outcome.failed) {
        text.push_str(&format!("note: {why}\n"));
    }
    if outcome.interrupted {
        text.push_str("note: stopped by the user; the cases above are whole\n");
    }
    text
}

/// Describes the cost of verifying reads, in each way.
fn verification(verified: &Verified) -> String {
    let part = |v: Option<f64>| v.map_or_else(|| "–".into(), |v| format!("{v:.3}"));
    let line = |how: &str, ours_us: &Figure, ratio: &Figure, word: GoalVerdict| {
        format!(
            "  {how:<16} {} us/IO; ratio {} [{}, {}]  goal {}: {}\n",
            part(ours_us.median),
            part(ratio.median),
            part(ratio.low),
            part(ratio.high),
            verified.goal.text(),
            word.text(),
        )
    };
    let fio = part(verified.fio_us.median);
    let mut text = format!("\nwhat verifying a read costs, against {fio} us/IO of fio's crc32c:\n");
    text.push_str(&line("without a table", &verified.ours_us, &verified.ratio, verified.word));
    if let Some(Cost { ours_us, ratio, word }) = &verified.with_table {
        text.push_str(&line("with a table", ours_us, ratio, *word));
    }
    text
}

/// Two lines of a case: figures, then ratios and goals.
fn row(case: &CaseOutcome) -> String {
    let number = |figure: &Figure, digits: usize| {
        figure.median.map_or_else(|| "–".into(), |v| format!("{v:.digits$}"))
    };
    let mut text = String::new();
    for side in &case.sides {
        let name = match side.backend() {
            Some(backend) if side.who != ContestantKind::Floor => {
                format!("{} ({backend})", side.name)
            }
            _ => side.name.clone(),
        };
        let depth = side.at_full_depth().filter(|_| case.case.depth > 1);
        let depth = depth.map_or_else(String::new, |share| {
            format!("  {:.0} % of I/Os at full depth", 100.0 * share)
        });
        text.push_str(&format!(
            "    {name:<34} {:>9} IOPS  {:>7} us/IO  {:>7} us/IO system{depth}\n",
            number(&side.iops, 0),
            number(&side.cpu_per_io_us, 3),
            number(&side.system_per_io_us, 3),
        ));
    }
    text.push_str(&format!("    CPU    {}\n", ratio(&case.cpu, case.verdict())));
    if let Some(floor) = &case.floor {
        let (alone, ours) = (spread(&floor.fio.ratio), spread(&floor.ours.ratio));
        let (about, peer) = (floor.about(), &floor.fio.against);
        text.push_str(&format!(
            "    floor   {alone}  {about} over {peer}; fathom over the floor {ours}\n"
        ));
    }
    text.push_str(&format!("    system {}\n", ratio(&case.system, None)));
    text.push_str(&format!("    IOPS   {}", ratio(&case.iops, None)));
    if case.disturbed.0 > 0 {
        let (some, all) = case.disturbed;
        text.push_str(&format!("\n    {some} of {all} runs were disturbed by others"));
    }
    text
}

fn ratio(ratio: &Ratio, verdict: Option<String>) -> String {
    let goal = || Some(format!("goal {}: {}", ratio.goal?.text(), ratio.word?.text()));
    let verdict = verdict.or_else(goal).map_or_else(String::new, |text| format!("  {text}"));
    format!(" {}{verdict}  (against {})", spread(&ratio.ratio), ratio.against)
}

/// Every command line that was tried.
fn lines(case: &CaseOutcome) -> String {
    let mut text = String::new();
    for tried in &case.tried {
        let what = match (&tried.sample, &tried.error) {
            (Some(sample), _) => {
                format!("{:.0} IOPS, {:.3} us/IO", sample.reported.iops, sample.cpu_per_io_us)
            }
            (None, error) => error.clone().unwrap_or_default(),
        };
        text.push_str(&format!("      {}: {what}\n        {}\n", tried.name, tried.line));
    }
    text
}
