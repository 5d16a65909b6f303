//! The effects of the factors, as a report shows them.

use analysis::{Analysis, FactorEffect, FactorEffects, LevelChange};

use super::FigureRow;

/// The effects on one metric that is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectRow {
    /// Name of the metric for people, with its scope: `IOPS of randwrite`.
    pub label: String,
    /// The effects that the analysis found.
    pub found: FactorEffects,
}

/// Returns all effects, in the order of the questions.
pub fn effects(analysis: &Analysis, rows: &[FigureRow]) -> Vec<EffectRow> {
    let of = |found: &FactorEffects| {
        let row = rows.iter().find(|r| r.metric == found.metric && r.scope == found.scope);
        let label = row.map_or(found.metric.as_str(), |row| row.label.as_str());
        EffectRow { label: format!("{label} of {}", found.scope.name()), found: found.clone() }
    };
    analysis.effects.iter().map(of).collect()
}

impl EffectRow {
    /// Describes the data that the table rests on, in sentences.
    pub fn basis(&self) -> String {
        let FactorEffects { repeats, dropped, left_out, freedom, spread, .. } = &self.found;
        // Figures that are equal may still differ by rounding errors.
        let spread = match 100.0 * spread {
            tiny if tiny < 0.001 => "below 0.001 %".to_owned(),
            percent => units::Unit::Percent.show(percent),
        };
        let repeats = match repeats {
            1 => "One repeat, which decides nothing: the interaction of three factors is taken for noise".to_owned(),
            n => format!("{n} repeats"),
        };
        let dropped = match dropped {
            0 => String::new(),
            n => format!(" {n} repeats are left out: not every combination has a value."),
        };
        let left_out = match &left_out[..] {
            [] => String::new(),
            names => format!(
                " Not every combination was planned with {}: the effects are computed from the others.",
                names.iter().map(|name| format!("“{name}”")).collect::<Vec<_>>().join(", ")
            ),
        };
        format!(
            "{repeats}; spread of a cell {spread}, {freedom} degrees of freedom.{dropped}{left_out}"
        )
    }
}

/// Describes a change: `dedupe from off to on`.
pub fn changed(change: &LevelChange) -> String {
    format!("{} from {} to {}", change.factor, change.from, change.to)
}

/// Describes the change or pair of changes that an effect belongs to.
pub fn effect_name(effect: &FactorEffect) -> String {
    match &effect.with {
        None => changed(&effect.of),
        Some(with) => format!("{}, and then {}", changed(&effect.of), changed(with)),
    }
}
