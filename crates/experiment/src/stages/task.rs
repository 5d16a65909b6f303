//! Tasks of stages, as written.

use workload::LoadSpec;

use crate::action::Act;
use crate::command::Command;
use crate::copy::CopyStage;
use crate::fill::Fill;
use crate::layout::Layout;
use crate::state::StateStage;
use crate::steps::Steps;
use crate::sweep::Point;

/// Task of a stage, as written.
#[derive(Clone)]
pub(crate) enum StageTask {
    /// Layers that allocate on first write are made to allocate.
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
    /// An action that the kind of the layer declares.
    Layer(Act),
    Steps(Steps),
}
