//! The parts of a result as plain data: facts, rows, summaries, findings.

mod age;
mod cell;
mod command;
mod content;
mod device_latency;
mod engine;
mod expected;
mod facts;
mod fill;
mod finding;
mod latency;
mod load;
mod machine;
mod machine_load;
mod picture;
mod reason;
mod rows;
mod sequential;
mod state;
mod target;
mod traits;
mod tree;
mod verify;
mod written;

pub use age::{Age, AgeingFigures, Fragmented, FreeSpace, SizeClass, TreeAge};
pub use cell::{CellRecord, CellState, LayerFigures, StageRecord, StepRecord};
pub use command::CommandFigures;
pub use content::{
    AchievedContent, AskedContent, CONTENT_SHARES, ContentFigure, content_figure, content_figures,
};
pub use device_latency::{DeviceLatency, LatencySource};
pub use engine::{ClockFacts, DepthFigures, EngineFacts, ProbeFigure};
pub use expected::{
    Bound, ExpectedFigure, FigureName, Grounds, ReportedFacts, ReportedSpread, ReportedValue,
};
pub use facts::{
    Accelerator, AskedMetric, CacheBound, CellEntry, Computed, DeviceFacts, FactorFacts,
    LayerFacts, Manifest, PickedFacts, PlanFacts, ResumeFacts, SCHEMA, StageFacts, SweepFacts,
    VariantFacts,
};
pub use fill::FillFigures;
pub use finding::{
    Change, EvidenceFigure, Finding, Proof, ProofOutcome, ProofRound, Severity, TimeRange,
};
pub use latency::LatencySummary;
pub use load::{
    CpuFigures, IoLogFacts, JobSummary, LoadSummary, NOTHING_MEASURED, OperationSummary, RateFacts,
    SteadyFacts, TargetSummary, WorstIo, counted_operations,
};
pub use machine::MachineFacts;
pub use machine_load::MachineLoad;
pub use picture::{PictureFacts, Show};
pub use reason::plain_and_raw;
pub use rows::{Fields, IntervalRow, JobRow, Row, SampleRow, StageEdge, TREE_SOURCE};
pub use sequential::{SequentialFacts, StopReason, StoppedFacts};
pub use state::{Criterion, CriterionResult, Requirement, StateFigures};
pub use target::TargetFacts;
pub use traits::{StageData, StageTraits};
pub use tree::{EquilibriumFacts, Outcomes, Population, TreeFacts};
pub use verify::{VerifyFigures, WrongBlock, WrongKind};
pub use written::{Written, written};
