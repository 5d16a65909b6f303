//! A run as it goes on.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use results::model::{CellState, plain_and_raw};
use run::{Event, OperationBrief};
use units::{Nanos, Unit, show};

use super::{bar, live, per_second, set_fraction, time_left};
use crate::terminal::{Line, Style, json_line, say, say_line};

/// Time without output after which a view says what takes so long.
const SILENCE: Duration = Duration::from_secs(2);

/// Time between two plain lines while a stage goes on.
const PLAIN_EVERY: Duration = Duration::from_secs(5);

/// Renders the events of a run.
pub struct RunView {
    json: bool,
    bar: Option<ProgressBar>,
    style: Style,
    /// The cell that began last.
    begun: Option<usize>,
    /// `cell 3/10 vdo r2`.
    cell: String,
    cell_started: Instant,
    last_plain: Instant,
    /// The time since which the space of the last guest's disks is being freed.
    giving_back: Option<Instant>,
}

impl RunView {
    /// Creates the view, of lines for people or of JSON lines.
    pub fn new(json: bool) -> Self {
        let now = Instant::now();
        Self {
            json,
            bar: live().then(bar),
            style: Style::of_stderr(),
            begun: None,
            cell: String::new(),
            cell_started: now,
            last_plain: now,
            giving_back: None,
        }
    }

    /// A line that stays, above the live view.
    pub fn line(&self, text: impl Into<Line>) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say_line(text)),
            None => say_line(text),
        }
    }

    /// Shows what is going on before the first cell.
    pub fn status(&self, text: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_prefix("lab");
                bar.set_message(Line::from(text).to_string());
                bar.tick();
            }
            None => say(text),
        }
    }

    /// Shows what the lab does before the guest is there.
    pub fn lab(&self, event: &lab::Event) {
        use lab::Event as Lab;
        let text = match event {
            // The usual case is no news.
            Lab::ImageFound { .. } | Lab::Accelerator { name: "kvm", .. } => return,
            Lab::WaitingForBuild => "waiting for another process that builds a guest image".into(),
            Lab::FetchingLists { suite } => {
                format!("building the guest image: package lists of {suite}")
            }
            Lab::FetchingPackages { packages } => {
                format!("building the guest image: {packages} packages")
            }
            Lab::Unpacking { .. } => "building the guest image: unpacking".into(),
            Lab::Assembling { kernel } => format!("building the guest image: kernel {kernel}"),
            Lab::ImageBuilt { size, took, .. } => {
                let took = Nanos(took.as_nanos() as u64);
                return self
                    .line(format!("guest image built in {took} ({size}); later runs reuse it"));
            }
            Lab::FetchingQemu { suite } => format!("fetching the QEMU of {suite}"),
            Lab::BuildingSupply { what } => format!("making an image of {what}"),
            Lab::SupplyBuilt { what, size, took } => {
                let took = Nanos(took.as_nanos() as u64);
                let made = format!("image of {what} made in {took} ({size}); later runs reuse it");
                return self.line(made);
            }
            Lab::ProbingKvm { .. } => "trying KVM".into(),
            Lab::Accelerator { reason, .. } => {
                // QEMU's own words are in the manifest and on the page.
                let (reason, _) = plain_and_raw(reason);
                return self.line(self.style.note("note:").and(format!(
                    "the guest's CPU is emulated ({reason}): ratios are meaningful, absolute speed is not"
                )));
            }
            // Events of a later lab are news of no importance here.
            _ => return,
        };
        self.status(&text);
    }

    /// Shows an event.
    pub fn event(&mut self, event: &Event) {
        if self.json
            && let Ok(value) = serde_json::to_value(event)
        {
            json_line(&value);
        }
        match event {
            Event::CellStarted { cell, of, variant, repeat } => {
                self.begun = Some(*cell);
                self.cell = format!("cell {}/{of} {variant} r{repeat}", cell + 1);
                self.cell_started = Instant::now();
                self.show(None, "starting");
            }
            Event::Step { about, undo, .. } => {
                let verb = if *undo { "down: " } else { "" };
                self.show(None, &format!("{verb}{about}"));
            }
            Event::StageStarted { name, .. } => self.show(Some(0.0), name),
            Event::Progress { stage, elapsed_ns, remaining_ns, fraction, operations, .. } => {
                let figures = operations.iter().map(figures).collect::<Vec<_>>().join("  ");
                let left = time_left(*remaining_ns, *elapsed_ns);
                self.progress(*fraction, &format!("{stage}  {left}  {figures}"));
            }
            // Cells that never began are not reported one by one.
            Event::CellEnded { cell, state, reason } if self.begun == Some(*cell) => {
                self.ended(*state, reason.as_deref());
            }
            Event::CellEnded { .. } => {}
            Event::GivingBack => {
                let now = Instant::now();
                // The first plain line comes as soon as the silence has lasted long enough.
                self.last_plain = now.checked_sub(PLAIN_EVERY).unwrap_or(now);
                self.giving_back = Some(now);
            }
            Event::Looked { after, claims, next, stopped } => {
                for text in look_texts(*after, claims, *next, stopped.as_deref()) {
                    self.line(self.style.note("look:").and(text));
                }
            }
            Event::Notice { text, .. } => {
                self.line(self.style.note("note:").and(text));
            }
        }
    }

    /// Says what takes so long where nothing was printed for two seconds; called now and then.
    pub fn wait(&mut self) {
        let since = self.giving_back.map(|since| since.elapsed());
        let Some(text) = since.and_then(waits) else { return };
        if self.bar.is_some() {
            self.status(&text);
        } else if self.last_plain.elapsed() >= PLAIN_EVERY {
            self.last_plain = Instant::now();
            say(&text);
        }
    }

    /// Takes the live view off the terminal.
    pub fn close(&mut self) {
        self.giving_back = None;
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn ended(&self, state: CellState, reason: Option<&str>) {
        let took = Nanos(self.cell_started.elapsed().as_nanos() as u64);
        let word = match state {
            CellState::Done => self.style.good("done"),
            CellState::Interrupted => self.style.note("interrupted"),
            _ => self.style.bad("failed"),
        };
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        self.line(Line::from(&self.cell).and(word).and(format!("in {took}{reason}")));
    }

    fn show(&self, fraction: Option<f64>, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_prefix(Line::from(&self.cell).to_string());
            set_fraction(bar, fraction);
            bar.set_message(Line::from(text).to_string());
        }
    }

    fn progress(&mut self, fraction: Option<f64>, text: &str) {
        if self.bar.is_some() {
            self.show(fraction, text);
        } else if self.last_plain.elapsed() >= PLAIN_EVERY {
            self.last_plain = Instant::now();
            say(&format!("{} {text}", self.cell));
        }
    }
}

/// `giving back the guest's disks, 17 s`; `None` before [`SILENCE`] is over.
fn waits(gone: Duration) -> Option<String> {
    (gone >= SILENCE).then(|| format!("giving back the guest's disks, {} s", gone.as_secs()))
}

/// Returns the outcome of a look at the verdicts so far: `after 5 repeats decided: IOPS of randwrite (vdo worse)`, and what is still open.
fn look_texts(
    after: u32,
    claims: &[run::QuestionState],
    next: Option<u32>,
    stopped: Option<&str>,
) -> Vec<String> {
    let list = |decided: bool, describe: &dyn Fn(&run::QuestionState) -> String| {
        let of = claims.iter().filter(|claim| claim.decided == decided);
        let items: Vec<_> =
            of.map(|claim| format!("{} ({})", claim.question, describe(claim))).collect();
        (!items.is_empty()).then(|| items.join(", "))
    };
    let verdict = |claim: &run::QuestionState| {
        format!("{} {}", claim.variant, claim.verdict.as_deref().unwrap_or("undecided"))
    };
    let needed = |claim: &run::QuestionState| match claim
        .repeats_that_might_decide
        .zip(claim.repeats_that_would_decide)
    {
        Some(range) => {
            format!("{}, {}", claim.variant, report::so_many_would_decide(range))
        }
        None => claim.variant.clone(),
    };
    let decided =
        list(true, &verdict).map(|names| format!("after {after} repeats decided: {names}"));
    let open = list(false, &needed).map(|names| {
        let next = next.map_or_else(String::new, |next| format!("; the next look is after {next}"));
        format!("after {after} repeats open: {names}{next}")
    });
    let stopped = stopped.map(|why| format!("the run stops {why}"));
    [decided, open, stopped].into_iter().flatten().collect()
}

/// One operation in one interval: `randwrite 8.1k/s 31 MiB/s p50 3.1 ms p99 9 ms`.
pub fn figures(brief: &OperationBrief) -> String {
    let latency = |ns: Option<u64>| ns.map_or_else(|| "–".into(), |ns| show::nanos(ns as f64));
    let errors = if brief.errors > 0 { format!(" errors {}", brief.errors) } else { String::new() };
    format!(
        "{} {} {} p50 {} p99 {}{errors}",
        brief.operation,
        per_second(brief.iops),
        Unit::BytesPerSecond.show(brief.throughput_bytes_per_s),
        latency(brief.p50_ns),
        latency(brief.p99_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_says_what_is_decided_what_is_open_and_when_the_next_one_is() {
        let claim = |question: &str, verdict: &str, range: Option<(u32, u32)>| run::QuestionState {
            question: question.into(),
            variant: "vdo".into(),
            decided: verdict != "unclear",
            verdict: Some(verdict.into()),
            repeats_that_might_decide: range.map(|range| range.0),
            repeats_that_would_decide: range.map(|range| range.1),
        };
        let claims = [
            claim("IOPS of randwrite", "worse", None),
            claim("p99 latency of randwrite", "unclear", Some((8, 31))),
        ];
        let expected = [
            "after 5 repeats decided: IOPS of randwrite (vdo worse)",
            "after 5 repeats open: p99 latency of randwrite (vdo, 8 to 31 repeats would decide); the next look is after 8",
        ];
        assert_eq!(look_texts(5, &claims, Some(8), None), expected);
        let stopped = look_texts(5, &claims[..1], None, Some("after 5 of at most 27 repeats: x"));
        assert_eq!(stopped[1], "the run stops after 5 of at most 27 repeats: x");
    }

    #[test]
    fn a_guest_that_takes_its_time_to_go_is_told_from_two_seconds_on() {
        assert_eq!(waits(Duration::from_millis(1999)), None);
        let notice = waits(Duration::from_millis(17_900));
        assert_eq!(notice.as_deref(), Some("giving back the guest's disks, 17 s"));
    }

    #[test]
    fn an_interval_reads_as_one_short_line() {
        let brief = OperationBrief {
            operation: "randwrite".into(),
            iops: 8123.4,
            throughput_bytes_per_s: 8123.4 * 4096.0,
            p50_ns: Some(3_100_000),
            p99_ns: None,
            errors: 2,
        };
        assert_eq!(figures(&brief), "randwrite 8,123/s 31.7 MiB/s p50 3.1 ms p99 – errors 2");
    }
}
