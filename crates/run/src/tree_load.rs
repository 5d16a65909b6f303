//! The load of a tree of files that a stage asks for, on a real target.

use std::os::unix::fs::MetadataExt;

use engine::tree::{TreeLoad, TreeStop};
use experiment::{CellPlan, TreePlan};
use host::Place;
use sys::meant::Meant;

/// Makes the directory of the tree of stage `stage`, and gives its load. The seed depends on the repeat and the stage, not on the variant.
pub(crate) fn prepare(
    plan: &CellPlan,
    stage: usize,
    tree: &TreePlan,
    Place { name, way, meant }: Place,
) -> Result<TreeLoad, String> {
    let planned = &plan.stages[stage];
    let (directory, way) = (name.join(&tree.folder), way.join(&tree.folder));
    let failed = |what: &str, error| format!("{} cannot be {what}: {error}", directory.display());
    std::fs::create_dir(&way).map_err(|error| failed("made", error))?;
    let made = std::fs::symlink_metadata(&way).map_err(|error| failed("examined", error))?;
    if matches!(meant, Some(Meant::FileOn(on)) if made.dev() != on) {
        return Err(format!(
            "{} leads out of the file system of the stack; nothing is written there",
            directory.display()
        ));
    }
    Ok(TreeLoad {
        spec: tree.spec.clone(),
        seed: plan.seed.derive(&format!("stage {}", planned.name)),
        directory,
        way,
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
