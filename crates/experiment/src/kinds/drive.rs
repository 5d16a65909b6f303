//! `do = "load"`: a load, or a sweep of loads.

use std::ops::Range;

use results::model::{StageData, SweepFacts};
use workload::LoadSpec;

use crate::stages::{Around, KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;
use crate::written::load;
use crate::written::sweep::{self, Point, SWEEP};
use plan::{Aim, StagePlan};

pub(crate) const KIND: StageKind =
    StageKind { facts: KindFacts::new("load", "A load", WorksOn::Load, StageData::Load), read };

fn read(mut table: Table, around: &Around) -> Result<Box<dyn StageTask>, Diagnostic> {
    Ok(match table.table(&SWEEP, "sweep")? {
        Some(keys) => {
            let (stage, at) = ((around.name, around.measured), keys.at());
            Box::new(Sweep { points: sweep::read(stage, keys, table, around.file)?, at })
        }
        None => {
            sweep::needless(&table)?;
            Box::new(Single(load::read(table, around.places, around.file)?))
        }
    })
}

/// One load.
#[derive(Clone)]
struct Single(LoadSpec);

impl StageTask for Single {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        Ok(vec![stage.driving(&self.0, on.aims(stage)?)?])
    }

    fn load(&self) -> Option<&LoadSpec> {
        Some(&self.0)
    }

    fn loads_mut(&mut self) -> Vec<&mut LoadSpec> {
        vec![&mut self.0]
    }
}

/// Loads that differ in some keys, one after another, in the order of the file.
#[derive(Clone)]
struct Sweep {
    points: Vec<Point>,
    /// Its byte range in the file.
    at: Range<usize>,
}

impl StageTask for Sweep {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let aims = on.aims(stage)?;
        let equal = sweep::equal_points(&self.points, Aim::common_size(&aims), &self.at);
        equal.map_or(Ok(()), Err)?;
        let point = |point: &Point| {
            let sweep = Some(SweepFacts { stage: stage.name.clone(), point: point.at.clone() });
            let (name, places) = (point.name.clone(), point.places.clone());
            let one = StageHead { name, places, ..stage.clone() };
            Ok(StagePlan { sweep, ..one.driving(&point.spec, aims.clone())? })
        };
        self.points.iter().map(point).collect()
    }

    fn load(&self) -> Option<&LoadSpec> {
        self.points.first().map(|point| &point.spec)
    }

    fn loads_mut(&mut self) -> Vec<&mut LoadSpec> {
        self.points.iter_mut().map(|point| &mut point.spec).collect()
    }

    fn points(&self) -> &[Point] {
        &self.points
    }
}
