//! The load of a tree of files that a stage asks for, on a real target.

use std::os::unix::fs::MetadataExt;

use engine::Context;
use engine::tree::{TreeLoad, TreeStop};
use host::{Executor, Place};
use plan::{CellPlan, TreePlan};
use results::model::LoadSummary;
use sys::meant::Meant;

use crate::error::Cause;
use crate::scene::CellContext;
use crate::turn::{LoadId, LoadSpan, hand_in, load_of};
use crate::watch::CellSamplers;

/// Drives the tree of a stage, and gives its figures.
pub(crate) fn drive(
    scene: &CellContext,
    plan: &CellPlan,
    turn: LoadId,
    tree: &TreePlan,
    (executor, watch): (&mut Executor, &mut CellSamplers),
) -> Result<LoadSummary, Cause> {
    let place = executor.place(plan.stages[turn.stage].target.offer.path())?;
    let load = prepare(plan, turn.stage, tree, place)?;
    let foreign = watch.cpu_meter();
    let (clock, interrupt) = (scene.clock, scene.interrupt);
    let context = Context { clock, interrupt, foreign_cpu: Some(&*foreign) };
    let mut span = LoadSpan::of(&load_of(plan, turn), turn);
    let done = engine::tree::run(&load, &context, &mut |event| {
        span.read_at(&event, executor, watch);
        hand_in(scene, plan, turn, &event);
    });
    span.end(executor, watch);
    Ok(done?)
}

/// Makes the directory of the tree of stage `stage`, and gives its load. The seed depends on the repeat and the stage, not on the variant.
fn prepare(
    plan: &CellPlan,
    stage: usize,
    tree: &TreePlan,
    Place { name, way, meant }: Place,
) -> Result<TreeLoad, Cause> {
    let planned = &plan.stages[stage];
    let (directory, below) = (name.join(&tree.folder), way.join(&tree.folder));
    let failed = |what: &str, error| format!("{} cannot be {what}: {error}", directory.display());
    let found = std::fs::metadata(&way).map_err(|error| failed("made", error))?;
    if matches!(meant, Some(Meant::FileOn(on)) if found.dev() != on) {
        return Err(format!(
            "{} leads out of the file system of the stack; nothing is written there",
            directory.display()
        )
        .into());
    }
    std::fs::create_dir(&below).map_err(|error| failed("made", error))?;
    Ok(TreeLoad {
        spec: tree.spec.clone(),
        seed: plan.seed.derive(&format!("stage {}", planned.name)),
        directory,
        way: below,
        into_existing: false,
        content: tree.content.clone(),
        stop: TreeStop {
            duration: tree.duration.into_iter().chain(planned.deadline).min(),
            ios: tree.ios,
            equilibrium: tree.equilibrium,
        },
        interval: tree.interval,
        stage,
    })
}
