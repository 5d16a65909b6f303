//! What a stage does, as written.

use workload::LoadSpec;

use crate::action::Act;
use crate::command::Command;
use crate::copy::CopyStage;
use crate::fill::Fill;
use crate::layout::Layout;
use crate::state::StateStage;
use crate::steps::Steps;
use crate::sweep::Point;

/// What a stage does.
#[derive(Clone)]
pub(crate) enum StageTask {
    /// What the layers need.
    Allocate,
    /// Files are made and written.
    Layout(Box<Layout>),
    Load(Box<LoadSpec>),
    /// Loads that differ in some keys, one after another.
    Sweep(Vec<Point>),
    Fill(Box<Fill>),
    Copy(CopyStage),
    Command(Command),
    /// A layer is brought to a state.
    State(Box<StateStage>),
    /// What the kind of a layer declares that it can do.
    Layer(Act),
    Steps(Steps),
}
