//! A kind of stage that only this test has: everything about it is in this file.

use experiment::{
    Around, Diagnostic, KindFacts, Planner, StageHead, StageKind, StageTask, Table, WorksOn,
};
use layers::step::{Action, Step};
use plan::{Needs, StagePlan};
use results::model::StageData;
use units::{Key, Nanos};

pub const KIND: StageKind = StageKind {
    facts: KindFacts::new("soak", "A soak", WorksOn::One, StageData::Foreign).timed(),
    read,
};

const PASSES: Key = Key { name: "passes", takes: "a number from 1 to 9", example: "3" };

fn read(mut table: Table, _: &Around) -> Result<Box<dyn StageTask>, Diagnostic> {
    let passes = table.need::<u64>(&PASSES)?;
    if !(1..=9).contains(passes.get_ref()) {
        let message = format!("A soak cannot have {} passes", passes.get_ref());
        return Err(Diagnostic::at(passes.span(), message, "from 1 to 9"));
    }
    table.finish()?;
    Ok(Box::new(Soak { passes: passes.into_inner() }))
}

#[derive(Clone)]
struct Soak {
    passes: u64,
}

impl StageTask for Soak {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let target = on.free(stage)?;
        let passes = self.passes.to_string();
        let argv = ["soakctl", passes.as_str(), target.offer.path()].map(str::to_owned).to_vec();
        let step = Step {
            about: "write all of it over and over".into(),
            action: Action::Command { argv, removes: None },
            undo: Vec::new(),
            deadline_s: 60,
        };
        Ok(vec![stage.doing(vec![step], target, Nanos::from_secs(self.passes))?])
    }

    fn needs(&self) -> Needs {
        Needs { tools: vec!["soakctl".into()], ..Needs::default() }
    }
}
