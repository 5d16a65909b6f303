//! Effects of each factor of an experiment in each metric that is asked about.

use std::collections::BTreeSet;
use std::ops::Deref;

use results::model::{AskedMetric, PlanFacts, VariantFacts};
use stats::factorial::{self, Effects, Factor, Trial};
use units::Better;

use crate::comparisons::{asks, described, few_beyond, least_of};
use crate::scope::Scope;
use crate::variant::VariantFigures;

/// Name of the factor whose levels are the variants in the file; reserved, so that no other factor has it.
const VARIANT: &str = "variant";

/// The effects of all factors in one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct FactorEffects {
    /// Id of the metric.
    pub metric: String,
    /// Scope of the metric.
    pub scope: Scope,
    /// The relative difference that does not matter.
    pub threshold: f64,
    /// The effects of each factor, then of each pair of factors.
    pub effects: Vec<FactorEffect>,
    /// Repeats that the effects were computed from.
    pub repeats: usize,
    /// Repeats left out because a combination has no value in them.
    pub dropped: usize,
    /// Levels left out because not every combination with them was planned, each after its factor (`compression in vain`).
    pub left_out: Vec<String>,
    /// Degrees of freedom of the residuals.
    pub freedom: usize,
    /// Standard deviation of the residuals, as a share of the value.
    pub spread: f64,
    /// Method of the computation, in words.
    pub method: String,
}

/// Change of a factor from one level to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelChange {
    /// Name of the factor.
    pub factor: String,
    /// The level that is compared with.
    pub from: String,
    /// The level that is compared.
    pub to: String,
}

/// Effect of a level change over all levels of the other factors; with a second change, the ratio of that effect after it to that before it.
#[derive(Debug, Clone, PartialEq)]
pub struct FactorEffect {
    /// The change.
    pub of: LevelChange,
    /// The second change; `None` for the effect of a factor alone.
    pub with: Option<LevelChange>,
    /// The statistics of the values.
    pub statistics: factorial::Effect,
}

impl Deref for FactorEffect {
    type Target = factorial::Effect;

    fn deref(&self) -> &factorial::Effect {
        &self.statistics
    }
}

/// A factor with the levels that take part.
#[derive(Debug, Clone)]
struct Varied {
    name: String,
    levels: Vec<String>,
}

/// The effects in one metric before verdicts are given.
pub(crate) struct EffectsDraft {
    facts: FactorEffects,
    factors: Vec<Varied>,
    pub all: Effects,
    pub better: Better,
}

/// Computes the effects in every asked metric; none if fewer than two factors vary.
pub(crate) fn effects(plan: &PlanFacts, variants: &[VariantFigures]) -> Vec<EffectsDraft> {
    let (factors, left_out) = drop_incomplete_levels(varied(plan), plan);
    if factors.len() < 2 || plan.factors.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (question, scope) in asked_scopes(plan, variants) {
        let Some((better, _)) = described(plan, &scope, &question.metric) else { continue };
        if few_beyond(&variants.iter().collect::<Vec<_>>(), &scope, &question.metric) {
            continue;
        }
        let trials = trials(plan, variants, &factors, (&question.metric, &scope));
        // An effect is a ratio, and a ratio to a value near 0 means nothing.
        let least = least_of(&question.metric);
        if trials.iter().any(|trial| trial.value < least) {
            continue;
        }
        let shapes: Vec<Factor> = factors.iter().map(Varied::shape).collect();
        let Some(all) = factorial::effects(&shapes, &trials, question.threshold) else { continue };
        let facts = FactorEffects {
            metric: question.metric.clone(),
            scope,
            threshold: question.threshold,
            effects: Vec::new(),
            repeats: all.blocks,
            dropped: all.dropped,
            left_out: left_out.clone(),
            freedom: all.freedom,
            spread: all.deviation.exp_m1(),
            method: String::new(),
        };
        found.push(EffectsDraft { facts, factors: factors.clone(), all, better });
    }
    found
}

impl EffectsDraft {
    /// Returns the effects after `all` was judged together with the comparisons; `at_last_look`: at the last look of a run that could stop early.
    pub(crate) fn finish(self, at_last_look: bool) -> FactorEffects {
        let Self { mut facts, factors, all, .. } = self;
        facts.effects = all.effects.iter().map(|effect| effect_facts(effect, &factors)).collect();
        facts.method = method(&all, at_last_look);
        facts
    }
}

fn method(all: &Effects, at_last_look: bool) -> String {
    let family = match at_last_look {
        true => {
            "judged at the last look alone, p adjusted for all looks and for all effects and comparisons of variants together, so that at most 5 % of experiments have any \
             false verdict"
        }
        false => "p adjusted after Holm over all effects and comparisons of variants together",
    };
    let alone = match all.blocks {
        1 => "; one repeat decides nothing: the interaction of three factors is taken for noise",
        _ => "",
    };
    format!(
        "least squares on logarithms: repeat, factors and every two of them together; {} degrees of freedom; {family}{alone}",
        all.freedom
    )
}

fn effect_facts(effect: &factorial::Effect, factors: &[Varied]) -> FactorEffect {
    let change = |change: factorial::Change| {
        let Varied { name, levels } = &factors[change.factor];
        LevelChange {
            factor: name.clone(),
            from: levels[change.from].clone(),
            to: levels[change.to].clone(),
        }
    };
    FactorEffect {
        of: change(effect.of),
        with: effect.with.map(change),
        statistics: effect.clone(),
    }
}

/// Returns each asked metric with every scope that has it.
fn asked_scopes<'a>(
    plan: &'a PlanFacts,
    variants: &[VariantFigures],
) -> Vec<(&'a AskedMetric, Scope)> {
    let mut all = Vec::new();
    for question in &plan.questions {
        let of = |variant: &VariantFigures| {
            let matching = variant.values.iter().filter(|v| asks(question, &v.scope, &v.metric));
            matching.map(|values| variant.common(&values.scope)).collect::<Vec<_>>()
        };
        let scopes: BTreeSet<Scope> = variants.iter().flat_map(of).collect();
        all.extend(scopes.into_iter().map(|scope| (question, scope)));
    }
    all
}

/// Returns everything that varies: the variants in the file, if there are several, and its factors.
fn varied(plan: &PlanFacts) -> Vec<Varied> {
    let mut names: Vec<String> = Vec::new();
    for variant in &plan.variants {
        let name = own_name(plan, variant);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let variants = (names.len() > 1).then(|| Varied { name: VARIANT.to_owned(), levels: names });
    let factors = plan.factors.iter();
    let factors = factors.map(|f| Varied { name: f.name.clone(), levels: f.levels.clone() });
    variants.into_iter().chain(factors).collect()
}

/// Returns the name that the file gives a variant, without the levels that follow it.
pub fn own_name(plan: &PlanFacts, variant: &VariantFacts) -> String {
    let level = |name: &String| Some(format!("{name} {}", variant.levels.get(name)?));
    let levels: Vec<_> = plan.factors.iter().filter_map(|factor| level(&factor.name)).collect();
    let stem = variant.name.strip_suffix(&levels.join(", ")).unwrap_or_default();
    stem.trim_end_matches(", ").to_owned()
}

fn level(plan: &PlanFacts, variant: &VariantFacts, factor: &Varied) -> Option<usize> {
    let wanted = match factor.name.as_str() {
        VARIANT => own_name(plan, variant),
        name => variant.levels.get(name)?.clone(),
    };
    factor.levels.iter().position(|level| *level == wanted)
}

/// Reduces the factors to levels with all combinations planned; returns them and the levels dropped for that. The level with the smallest share of
/// planned combinations is dropped until none is missing.
fn drop_incomplete_levels(
    mut factors: Vec<Varied>,
    plan: &PlanFacts,
) -> (Vec<Varied>, Vec<String>) {
    let mut left_out = Vec::new();
    loop {
        let ran: BTreeSet<Vec<usize>> = plan
            .variants
            .iter()
            .filter_map(|v| factors.iter().map(|factor| level(plan, v, factor)).collect())
            .collect();
        let all: usize = factors.iter().map(|factor| factor.levels.len()).product();
        if ran.len() == all || all == 0 {
            break;
        }
        let has = |factor: usize, level: usize| {
            let with_level = ran.iter().filter(|levels| levels[factor] == level).count();
            with_level as f64 * factors[factor].levels.len() as f64 / all as f64
        };
        let each = (0..factors.len())
            .flat_map(|f| (0..factors[f].levels.len()).map(move |level| (f, level)));
        let Some((factor, level)) = each.min_by(|a, b| has(a.0, a.1).total_cmp(&has(b.0, b.1)))
        else {
            break;
        };
        let name = factors[factor].levels.remove(level);
        left_out.push(format!("{} {name}", factors[factor].name));
    }
    factors.retain(|factor| factor.levels.len() > 1);
    (factors, left_out)
}

impl Varied {
    fn shape(&self) -> Factor {
        let numbers: Option<Vec<f64>> = self.levels.iter().map(|l| level_number(l)).collect();
        let ordered = numbers.is_some_and(|numbers| numbers.windows(2).all(|w| w[0] < w[1]));
        Factor { levels: self.levels.len(), ordered }
    }
}

fn trials(
    plan: &PlanFacts,
    variants: &[VariantFigures],
    factors: &[Varied],
    (metric, scope): (&str, &Scope),
) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (facts, figures) in plan.variants.iter().zip(variants) {
        let levels: Option<Vec<usize>> =
            factors.iter().map(|factor| level(plan, facts, factor)).collect();
        let (Some(levels), Some(values)) = (levels, figures.values_of(scope, metric)) else {
            continue;
        };
        let trial = |point: &crate::Point| Trial {
            block: point.repeat,
            levels: levels.clone(),
            value: point.value,
        };
        trials.extend(values.points.iter().map(trial));
    }
    trials
}

/// Returns the number at the start of a level, multiplied by its unit: `25 %`, `4k`, `128M`.
pub fn level_number(level: &str) -> Option<f64> {
    let level = level.trim();
    let digits =
        level.len() - level.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let value: f64 = level[..digits].parse().ok()?;
    let times = match level[digits..].trim() {
        "" | "%" | "x" | "s" => 1.0,
        "k" | "K" | "KiB" => 1024.0,
        "M" | "MiB" => 1_048_576.0,
        "G" | "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    Some(value * times)
}

#[cfg(test)]
mod tests {
    use super::level_number;

    #[test]
    fn a_level_is_a_number_with_its_unit_or_a_name() {
        assert_eq!(level_number("25 %"), Some(25.0));
        assert_eq!(level_number("4k"), Some(4096.0));
        assert_eq!(level_number("2.5x"), Some(2.5));
        assert_eq!(level_number("on"), None);
        assert_eq!(level_number("4 kinds"), None);
    }
}
