//! Rules of the doctor as data: what a rule reads, where its threshold lies, what it says and what to do, and the predicate.

#[cfg(test)]
pub(crate) mod made_up;

use std::collections::BTreeMap;

use results::model::{
    AchievedContent, AskedContent, Change, EvidenceFigure, Finding, LayerFacts, LayerFigures,
    SampleRow, Severity, StageRecord, TimeRange,
};
use units::Unit;

use crate::figures::{LOAD_END, LOAD_START, SHORTEST_S};
use crate::planned::PlannedStage;
use crate::standing::StandingFacts;

/// A rule. `C` is the type of its predicate: a layer's rule looks at one cell or plan, a common rule at the whole result.
#[derive(Clone, Copy)]
pub struct Rule<C> {
    /// Its id, unique to the rule; several kinds of layers may share the rule.
    pub id: &'static str,
    /// Its statement, one sentence; a finding may repeat it with names in it.
    pub text: &'static str,
    /// The data that it reads, in words.
    pub reads: &'static str,
    /// The number above or below which it fires.
    pub threshold: Option<Threshold>,
    /// The remedy, with the command or the key.
    pub remedy: &'static str,
    /// The source of the rule (`lvm2 issue 196`).
    pub source: &'static str,
    /// The predicate.
    pub check: C,
}

/// The number with which a rule compares what it reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// Tells whether the rule fires above it; otherwise it fires below it.
    pub above: bool,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

impl Threshold {
    /// Fires above `value`.
    pub const fn above(value: f64, unit: Unit) -> Option<Self> {
        Some(Self { above: true, value, unit })
    }

    /// Fires below `value`.
    pub const fn below(value: f64, unit: Unit) -> Option<Self> {
        Some(Self { above: false, value, unit })
    }

    /// Tells whether `value` is where the rule fires.
    pub fn passed(&self, value: f64) -> bool {
        if self.above { value > self.value } else { value < self.value }
    }
}

impl std::fmt::Display for Threshold {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let word = if self.above { "above" } else { "below" };
        write!(f, "{word} {}", self.unit.show(self.value))
    }
}

/// The time at which a layer's rule looks, and the data that it looks at.
#[derive(Clone, Copy)]
pub enum Check {
    /// Before a run, at the plan of one variant.
    Plan(fn(&PlannedFacts, ThresholdTest) -> Option<Observation>),
    /// After it, at a whole cell.
    Cell(fn(&RuleFacts, ThresholdTest) -> Option<Observation>),
    /// After it, at each measured stage of a cell; the stage that explains most is reported.
    Stage(fn(&RuleFacts, &MeasuredStage, ThresholdTest) -> Option<Observation>),
}

/// A rule of a layer.
pub type LayerRule = Rule<Check>;

/// The predicate of a rule about a node of a stack that a machine has.
pub type StandingCheck = fn(&StandingFacts, ThresholdTest) -> Option<Observation>;

/// A rule that needs no run: it looks at each node of a stack that a machine has.
pub type StandingRule = Rule<StandingCheck>;

/// The threshold of a rule as its predicate gets it; without a threshold nothing passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdTest(Option<Threshold>);

impl ThresholdTest {
    /// The number itself.
    pub fn value(self) -> f64 {
        self.0.map_or(f64::NAN, |threshold| threshold.value)
    }

    /// `value`, if the rule fires there.
    pub fn passed(self, value: f64) -> Option<f64> {
        self.0.is_some_and(|threshold| threshold.passed(value)).then_some(value)
    }

    /// Creates a figure that was compared with the threshold.
    pub fn figure(self, name: impl Into<String>, value: f64) -> EvidenceFigure {
        let unit = self.0.map_or(Unit::Count, |threshold| threshold.unit);
        let threshold = self.0.map(|threshold| threshold.value);
        EvidenceFigure { name: name.into(), value, unit, threshold }
    }
}

/// Creates a figure that supports a finding and was not compared with a threshold.
pub fn figure(name: impl Into<String>, value: f64, unit: Unit) -> EvidenceFigure {
    EvidenceFigure { name: name.into(), value, unit, threshold: None }
}

/// An observation of a predicate; what is empty in it is taken from the rule or made from the figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observation {
    /// The degree to which the figures are less reliable than they seem.
    pub severity: Severity,
    /// The exact message, where it is not always the same.
    pub message: Option<String>,
    /// Evidence in words; where empty, it is made from the figures.
    pub evidence: String,
    /// Evidence as numbers.
    pub figures: Vec<EvidenceFigure>,
    /// The remedy, where it is not always the same.
    pub remedy: Option<String>,
    /// Share of the limit that was used, percent, where the observation is a bottleneck.
    pub explains_percent: Option<f64>,
    /// Settings of the layer that would remove the problem: key and value as written in TOML.
    pub changes: Vec<(&'static str, String)>,
    /// Settings of the stage's load that would remove the problem.
    pub of_load: Vec<(&'static str, String)>,
    /// Devices that these settings need and the experiment does not have: name and table as written in TOML.
    pub devices: Vec<(&'static str, String)>,
    /// Reason why no setting removes a bottleneck, as the end of a sentence.
    pub no_setting: Option<&'static str>,
}

impl Observation {
    /// Makes the observation of a bottleneck at `share` percent of a limit; more than 100 counts as 100.
    pub(crate) fn limit(share: f64, figures: Vec<EvidenceFigure>) -> Self {
        Self { figures, explains_percent: Some(share.min(100.0)), ..Self::default() }
    }
}

impl<C> Rule<C> {
    /// Its threshold for the predicate.
    pub fn threshold_test(&self) -> ThresholdTest {
        ThresholdTest(self.threshold)
    }

    /// Makes the finding from what the predicate noticed about `subject`, the layer whose settings `changes` name.
    pub fn finding(&self, subject: &str, noticed: Observation) -> Finding {
        let figures: Vec<String> = noticed.figures.iter().map(ToString::to_string).collect();
        let change =
            |(key, value): (&str, String)| Change { key: format!("{subject}.{key}"), value };
        let device =
            |(name, table): (&str, String)| Change { key: format!("devices.{name}"), value: table };
        let devices = noticed.devices.into_iter().map(device);
        let mut remedy = noticed.remedy.unwrap_or_else(|| self.remedy.to_owned());
        if let Some(why) = noticed.no_setting {
            remedy = format!("{remedy} No setting takes it away: {why}.");
        }
        Finding {
            rule: self.id.to_owned(),
            severity: noticed.severity,
            subject: Some(subject.to_owned()),
            message: noticed.message.unwrap_or_else(|| self.text.to_owned()),
            evidence: if noticed.evidence.is_empty() {
                figures.join("; ")
            } else {
                noticed.evidence
            },
            remedy,
            figures: noticed.figures,
            range: None,
            place: None,
            explains_percent: noticed.explains_percent,
            changes: devices.chain(noticed.changes.into_iter().map(change)).collect(),
            commands: Vec::new(),
            proof: None,
        }
    }
}

impl LayerRule {
    /// Tells whether it looks at the plan.
    pub fn is_before(&self) -> bool {
        matches!(self.check, Check::Plan(_))
    }

    /// Returns what it finds in the plan of a variant.
    pub fn check_plan(&self, facts: &PlannedFacts) -> Option<Finding> {
        let Check::Plan(check) = self.check else { return None };
        check(facts, self.threshold_test()).map(|noticed| self.finding(facts.layer, noticed))
    }

    /// Returns what it finds in a cell.
    pub fn examine(&self, facts: &RuleFacts) -> Option<Finding> {
        match self.check {
            Check::Plan(_) => None,
            Check::Cell(check) => check(facts, self.threshold_test())
                .map(|noticed| self.finding(facts.layer, noticed)),
            Check::Stage(check) => {
                let found = facts.measured().filter_map(|stretch| {
                    let mut noticed = check(facts, &stretch, self.threshold_test())?;
                    let of_load = std::mem::take(&mut noticed.of_load);
                    let mut finding = self.finding(facts.layer, noticed);
                    let stage = &stretch.stage.name;
                    finding.changes.extend(
                        of_load
                            .into_iter()
                            .map(|(key, value)| Change { key: format!("{stage}.{key}"), value }),
                    );
                    Some((stretch, finding))
                });
                let rank = |f: &Finding| (f.severity, f.explains_percent.unwrap_or(0.0));
                let (stretch, mut finding) =
                    found.reduce(
                        |worst, next| {
                            if rank(&next.1) > rank(&worst.1) { next } else { worst }
                        },
                    )?;
                let (cell, start_ns, end_ns) = (facts.cell, stretch.start_ns, stretch.end_ns);
                finding.range = Some(TimeRange { cell, start_ns, end_ns });
                Some(finding)
            }
        }
    }
}

/// Facts of the plan of one variant, for a layer's rules.
pub struct PlannedFacts<'a> {
    /// The layer's name in the experiment.
    pub layer: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its settings, defaults included.
    pub settings: &'a BTreeMap<String, String>,
    /// The layers of the variant, the devices first.
    pub stack: &'a [LayerFacts],
    /// Tells whether a file system stands over the layer.
    pub below_files: bool,
    /// The stages of the variant.
    pub stages: &'a [PlannedStage],
    /// Kinds of the layers of every variant, the devices first.
    pub variants: &'a [Vec<&'a str>],
    /// The kinds that store duplicates once and compressed blocks together ([`crate::Kind::reduces`]).
    pub reducing: &'a [&'a str],
}

/// Facts of one cell, for a layer's rules.
pub struct RuleFacts<'a> {
    /// The layer's name in the experiment.
    pub layer: &'a str,
    /// The cell, by its position in the order of running.
    pub cell: usize,
    /// Its settings, defaults included.
    pub settings: &'a BTreeMap<String, String>,
    /// The layers of the stack, the devices first.
    pub stack: &'a [LayerFacts],
    /// Tells whether a file system stands over the layer.
    pub below_files: bool,
    /// The cell's samples, all sources, in order of time.
    pub samples: &'a [SampleRow],
    /// Its stages.
    pub stages: &'a [StageRecord],
    /// Its stages as planned.
    pub planned: &'a [PlannedStage],
    /// Its figures.
    pub figures: &'a LayerFigures,
    /// Content that was asked for from the first measured stage to the end, as far as several loads agree.
    pub asked_content: Option<&'a AskedContent>,
    /// Content that was achieved in that time; `None` if it was not measured.
    pub achieved: Option<&'a AchievedContent>,
    /// Facts of the cell by name (`vdo.instance`).
    pub facts: &'a BTreeMap<String, String>,
}

impl<'a> RuleFacts<'a> {
    /// The measured stages that ended.
    pub fn measured(&self) -> impl Iterator<Item = MeasuredStage<'a>> {
        let (samples, planned) = (self.samples, self.planned);
        self.stages.iter().filter(|stage| stage.measured).filter_map(move |stage| {
            let planned = planned.iter().find(|planned| planned.name == stage.name);
            Some(MeasuredStage {
                stage,
                planned,
                start_ns: stage.start_ns,
                end_ns: stage.end_ns?,
                samples,
            })
        })
    }

    /// The layer itself, as it was configured.
    pub fn layer_facts(&self) -> Option<&'a LayerFacts> {
        self.stack.iter().find(|layer| layer.name == self.layer)
    }

    /// The device directly at an input of the layer; `None` where a layer lies between.
    pub fn device(&self, input: &str) -> Option<&'a LayerFacts> {
        let name = self.layer_facts()?.on.get(input)?;
        self.stack.iter().find(|below| below.layer == "device" && below.name == *name)
    }

    /// Names of the devices that the stack stands on.
    pub fn devices(&self) -> impl Iterator<Item = &'a str> {
        self.stack.iter().filter(|l| l.layer == "device").map(|l| l.name.as_str())
    }
}

/// A measured stage with what was sampled while it ran.
#[derive(Clone, Copy)]
pub struct MeasuredStage<'a> {
    /// The record of the stage.
    pub stage: &'a StageRecord,
    /// The stage as planned.
    pub planned: Option<&'a PlannedStage>,
    /// Its start, nanoseconds since the run's epoch.
    pub start_ns: u64,
    /// Its end, nanoseconds since the run's epoch.
    pub end_ns: u64,
    samples: &'a [SampleRow],
}

impl<'a> MeasuredStage<'a> {
    /// Returns `remedy` if the stage was a command and not a load: then no key of a load can be changed.
    pub fn of_command(&self, remedy: &str) -> Option<String> {
        let planned = self.planned.and_then(|planned| planned.load.as_ref());
        (self.stage.load.is_none() && planned.is_none()).then(|| remedy.to_owned())
    }

    /// Samples of a source that could be read while it ran.
    pub fn samples(&self, source: &str) -> impl DoubleEndedIterator<Item = &'a SampleRow> {
        let (range, all) = (self.start_ns..=self.end_ns, self.samples);
        all.iter().filter(move |row| {
            row.source == source && row.error.is_none() && range.contains(&row.at_ns)
        })
    }

    /// The first and the last sample of a source.
    pub fn span(&self, source: &str) -> Option<Span<'a>> {
        let first = self.samples(source).next()?;
        let last = self.samples(source).next_back()?;
        (last.at_ns > first.at_ns).then_some(Span { first, last })
    }

    /// Returns the span of the stage's load alone, without its preparation and what came after it; the span of the whole stage if there is no load,
    /// or if the load was read over less than [`SHORTEST_S`]; `None` if the stage was read over less than that, too.
    pub fn load_span(&self, source: &str) -> Option<Span<'a>> {
        let marked =
            |mark: &str| self.samples(source).find(|row| row.mark.as_deref() == Some(mark));
        let ends = marked(LOAD_START).zip(marked(LOAD_END));
        let load = ends.map(|(first, last)| Span { first, last });
        let long = |span: &Span| span.last.at_ns > span.first.at_ns && span.seconds() >= SHORTEST_S;
        load.filter(long).or_else(|| self.span(source).filter(long))
    }
}

/// The first and the last sample of a source in a stage.
#[derive(Clone, Copy)]
pub struct Span<'a> {
    first: &'a SampleRow,
    last: &'a SampleRow,
}

impl<'a> Span<'a> {
    /// Seconds between them.
    pub fn seconds(&self) -> f64 {
        (self.last.at_ns - self.first.at_ns) as f64 / 1e9
    }

    /// Returns how much a field grew, below 0 if it shrank; `None` if it is missing.
    pub fn growth(&self, field: &str) -> Option<f64> {
        Some(self.end(field)? - self.first.fields.get(field).copied().flatten()?)
    }

    /// Returns how much a counter grew; `None` where it was reset.
    pub fn counted(&self, field: &str) -> Option<f64> {
        self.growth(field).filter(|grew| *grew >= 0.0)
    }

    /// Growth per second.
    pub fn rate(&self, field: &str) -> Option<f64> {
        Some(self.counted(field)? / self.seconds())
    }

    /// Returns the value of a field at the end.
    pub fn end(&self, field: &str) -> Option<f64> {
        self.last.fields.get(field).copied().flatten()
    }

    /// Names of the fields.
    pub fn fields(&self) -> impl Iterator<Item = &'a str> {
        self.last.fields.keys().map(String::as_str)
    }
}
