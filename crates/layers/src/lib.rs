//! Storage layers as data and pure functions: settings and their validity, the steps that raise
//! a layer and take it down, probes and parsers, figures, charts and needs, and a simulated twin.
//! One folder per layer; adding a layer means adding a folder, its `mod` line here and its line in the registry.
//! Nothing here touches the machine.
#![forbid(unsafe_code)]

mod absence;
mod ageing;
mod argv;
mod bcache;
mod btrfs;
mod cache_rules;
mod caching;
mod chart;
mod commands;
mod counter;
pub mod criterion;
mod crypt;
mod delay;
mod dm;
pub mod environment;
mod error;
mod ext4;
mod figures;
mod filesystem;
mod flakey;
mod key;
mod kind;
mod layer;
mod linear;
mod loads;
mod lvm;
mod lvmcache;
pub mod machine;
mod members;
mod objects;
mod on_purpose;
mod parse;
mod planned;
pub mod probe;
mod raid1;
mod read_back;
mod readings;
mod recorded;
mod registry;
mod rule;
mod set_up;
mod settings;
pub mod standing;
pub mod step;
mod striped;
mod thin;
mod turn;
mod twin;
mod vdo;
pub mod watched;
mod writecache;
mod xfs;

pub use absence::is_absent;
pub use counter::{Column, Overview, place_of};
pub use figures::{
    ALLOCATED, Endpoints, FigureFacts, Followed, LOAD_END, LOAD_START, RAMP_START, ROUND_END,
    SETTLED, SHORTEST_S, STAGE_END, STAGE_SETTLED, STAGE_START, Window, begins_figures,
};
pub use filesystem::keys::FORMAT;
pub use key::{Key, Values};
pub use kind::{
    Absence, ActionKind, Changed, Chart, FillLevel, Headline, Input, InputKind, Kind, LayerNeeds,
    Parser, PartEffect, Series, Share, State, StateMethod, Threads,
};
pub use layer::{
    ActionPlan, ActionRequest, Allocate, CacheRoom, Layer, MOUNTS, Offer, Place, Proof, RaisePlan,
    Restart, Round, fresh, is_of_run, on_device,
};
pub use loads::{COSTS, MACHINE_CPU_PER_IO, SLOWEST_JOB};
pub use objects::{Fact, FactSource, Listing, Objects};
pub use parse::{ABSENT, ParseError, Parsed};
pub use planned::{OperationKind, Order, PlannedLoad, PlannedOperation, PlannedStage};
pub use readings::Readings;
pub use registry::{
    MetricOwners, any_reduces, counters, facts, headline_verb_and_object, headline_words,
    is_headline, kind, kinds, metric, metrics, objects, owners_of_metric, parse, register, thread,
};
pub use rule::{
    Check, LayerRule, MeasuredStage, Observation, PlannedFacts, Rule, RuleFacts, Span,
    StandingRule, Threshold, ThresholdTest, figure,
};
pub use set_up::set_up;
pub use settings::SettingError;
pub use turn::{TURN_BYTES, TURN_FILL, TURN_TIME, is_turn};
pub use twin::{Twin, TwinAnswer, Writes};
