//! Checks that a subject is measured.

use layers::machine::RUN_BYTES;

use super::Subject;
use crate::stages::Stage;
use crate::written::diagnostic::{Diagnostic, nearest, with_article};
use crate::written::document::Places;
use crate::written::stacks::VariantStack;

/// The metric of the time that a command takes; other timed stages have it, too.
const ELAPSED: &str = "elapsed_s";

/// Returns the mistake for a figure that is known only for devices whose writes are recorded, if this device is not one.
pub(crate) fn unrecorded(
    metric: &str,
    device: &str,
    variants: &[VariantStack],
    places: &Places,
) -> Option<Diagnostic> {
    let recorded =
        variants.iter().any(|variant| variant.recorded.iter().any(|recorded| recorded == device));
    let message = format!("'{metric}' is known only where writes to '{device}' are recorded");
    let help = format!("add write_runs = true to [devices.{device}]");
    (metric == RUN_BYTES && !recorded)
        .then(|| Diagnostic::at(places.at("metric"), message, help).if_rest_is_right())
}

impl Subject {
    /// Checks that it names a metric of the catalogue, or one that a command's stage picks, and a stage, an operation or a layer that is measured.
    /// Reports every unknown name or, if there are none, keys that contradict each other.
    pub(crate) fn check(&self, stages: &[Stage], variants: &[VariantStack]) -> Vec<Diagnostic> {
        let in_catalogue = layers::metric(&self.metric).is_some();
        if let (true, Some(operation), Some(_)) = (in_catalogue, &self.operation, &self.layer) {
            let message = format!("A metric is of an operation ('{operation}') or of a layer");
            let help = "take one of the two keys away";
            return vec![Diagnostic::at(self.places.at("layer"), message, help).fix_by_removing()];
        }
        let of_metric = match in_catalogue {
            true => self.check_layer(variants),
            false => self.check_picked(stages),
        };
        let strange: Vec<_> = self.check_stage(stages).into_iter().chain(of_metric).collect();
        if strange.is_empty() && in_catalogue {
            return self.check_figure(stages, variants).into_iter().collect();
        }
        strange
    }

    /// Checks that its subject has such a figure: a load has IOPS, a layer the figures of its kind.
    fn check_figure(&self, stages: &[Stage], variants: &[VariantStack]) -> Option<Diagnostic> {
        let metric = &self.metric;
        let of = layers::owners_of_metric(metric);
        let whose = whose(&of);
        let refused = |key: &str, message: String, help: &str| {
            Some(Diagnostic::at(self.places.at(key), message, help).if_rest_is_right())
        };
        if let Some(operation) = &self.operation {
            let has = of.loads || of.tree_operations && self.is_on_tree(stages, operation);
            let message = format!(
                "'{metric}' is a figure of {whose}, and '{operation}' is an operation of a load"
            );
            let help = "remove the operation and name a layer or a stage that has it, or ask for a metric of loads: iops";
            return if has { None } else { refused("operation", message, help) };
        }
        let layers = || variants.iter().flat_map(|variant| &variant.layers);
        if let Some(name) = &self.layer {
            let mut kinds: Vec<&str> = layers()
                .filter(|layer| layer.name == *name)
                .map(|layer| layer.kind.as_str())
                .collect();
            kinds.sort_unstable();
            kinds.dedup();
            let has = match kinds[..] {
                [] => of.devices,
                _ => kinds.iter().any(|kind| of.kinds.contains(kind)),
            };
            let what = if kinds.is_empty() { "device".to_owned() } else { kinds.join(" or ") };
            let what = with_article(&what);
            let message = format!("'{metric}' is a figure of {whose}, and '{name}' is {what}");
            let help = "name what has such a figure, or remove the layer; docs/json.md lists the metrics of each";
            return if has {
                unrecorded(metric, name, variants, &self.places)
            } else {
                refused("layer", message, help)
            };
        }
        let is_named =
            |stage: &&Stage| self.stage.as_ref().is_none_or(|name| stage.is_called(name));
        let mut measured = stages.iter().filter(|stage| stage.head.measured).filter(is_named);
        let timed = |stage: &Stage| metric == ELAPSED && stage.head.kind.traits.timed;
        let of_stage = |stage: &Stage| {
            of.loads && !stage.task.operations().is_empty()
                || (of.trees || of.tree_operations) && stage.task.is_of_tree()
                || of.ageings && stage.task.is_ageing()
                || of.commands && (stage.task.picked().is_some() || timed(stage))
        };
        let of_stages = of.loads || of.trees || of.tree_operations || of.ageings || of.commands;
        let has = of.devices
            || layers().any(|layer| of.kinds.contains(&layer.kind.as_str()))
            || measured.any(of_stage);
        let message = match &self.stage {
            Some(stage) if of_stages => {
                format!("'{metric}' is a figure of {whose}, and stage '{stage}' is none")
            }
            _ => format!("'{metric}' is a figure of {whose}, and there is none here"),
        };
        let key = if self.stage.is_some() && of_stages { "stage" } else { "metric" };
        let help = "ask for a figure of what there is; docs/json.md lists the metrics of each";
        if has { None } else { refused(key, message, help) }
    }

    /// Tells whether a load of a tree does `operation` where this is measured.
    fn is_on_tree(&self, stages: &[Stage], operation: &String) -> bool {
        let is_named =
            |stage: &&Stage| self.stage.as_ref().is_none_or(|name| stage.is_called(name));
        let measured = stages.iter().filter(|stage| stage.head.measured).filter(is_named);
        let mut on_tree = measured.filter(|stage| stage.task.is_of_tree());
        on_tree.any(|stage| stage.task.operations().contains(operation))
    }

    /// Checks that a metric that is not in the catalogue is picked from what a command of a measured stage prints.
    fn check_picked(&self, stages: &[Stage]) -> Option<Diagnostic> {
        let measured = || stages.iter().filter(|stage| stage.head.measured);
        // If no stage has the name, the name itself is reported elsewhere.
        let named = self.stage.as_ref().filter(|name| measured().any(|one| one.is_called(name)));
        let is_named = |stage: &&Stage| named.is_none_or(|name| stage.is_called(name));
        let names = |stages: &mut dyn Iterator<Item = &Stage>| -> Vec<String> {
            let picked = stages.filter_map(|stage| stage.task.picked()).flatten();
            let mut names: Vec<_> = picked.map(str::to_owned).collect();
            names.sort();
            names.dedup();
            names
        };
        let (picked, all) = (names(&mut measured().filter(is_named)), names(&mut measured()));
        let metric = &self.metric;
        if let (true, Some(key)) = (picked.contains(metric), self.narrowed()) {
            let message =
                format!("'{metric}' is picked from what a command prints, and takes no {key}");
            return Some(
                Diagnostic::at(self.places.at(key), message, "leave the key out").fix_by_removing(),
            );
        }
        if picked.contains(metric) {
            return None;
        }
        let message = match &self.stage {
            Some(stage) if all.contains(metric) => {
                format!("The command of stage '{stage}' picks no figure '{metric}'")
            }
            _ => format!("There is no metric '{metric}'"),
        };
        let of_layers = layers::metrics().chain(layers::counters()).map(|m| m.id);
        let known: Vec<&str> = of_layers.chain(picked.iter().map(String::as_str)).collect();
        let near = nearest(metric, known.iter().copied());
        let near = near.map_or_else(
            || {
                "docs/json.md lists the metrics, and fathom layers NAME the counters of a layer"
                    .to_owned()
            },
            |near| format!("did you mean '{near}'?"),
        );
        let others = match &picked[..] {
            [] => String::new(),
            picked => format!("; figures of commands here: {}", picked.join(", ")),
        };
        let mistake = Diagnostic::at(self.places.at("metric"), message, format!("{near}{others}"));
        Some(mistake.near(metric, known).of_stages())
    }

    /// Checks that a figure that has to be single belongs to one stage and, in a sweep, to one point.
    pub(crate) fn check_single(&self, stages: &[Stage]) -> Option<Diagnostic> {
        let Some(name) = &self.stage else { return self.check_only(stages) };
        let swept = stages.iter().find(|s| s.head.name == *name && !s.task.points().is_empty())?;
        let points: Vec<String> = swept.names().skip(1).collect();
        let message = format!("Stage '{name}' is a sweep of {} points", points.len());
        let help = format!("name one of them: {}", points.join(", "));
        Some(Diagnostic::at(self.places.at("stage"), message, help).if_name_is_right(name))
    }

    /// Checks that only one stage has the figure, where no stage is named.
    fn check_only(&self, stages: &[Stage]) -> Option<Diagnostic> {
        let is_picked = layers::metric(&self.metric).is_none();
        let has = |stage: &&Stage| match &self.operation {
            Some(wanted) => stage.task.operations().contains(wanted),
            None if is_picked => {
                stage.task.picked().is_some_and(|names| names.contains(&self.metric.as_str()))
            }
            None => true,
        };
        let able = stages.iter().filter(|stage| stage.head.measured).filter(has);
        // Of a sweep only the points count as measured stages.
        let mut names: Vec<String> = able
            .flat_map(|stage| {
                let swept = usize::from(!stage.task.points().is_empty());
                stage.names().skip(swept).collect::<Vec<_>>()
            })
            .collect();
        // A stage of one name that differs between variants counts as one.
        names.sort();
        names.dedup();
        let message = format!("'{}' is measured in {} stages", self.metric, names.len());
        let help = format!("say in which with stage = \"...\": {}", names.join(", "));
        let several = names.len() > 1;
        several.then(|| Diagnostic::at(self.places.at("metric"), message, help).if_rest_is_right())
    }

    /// The key that names its operation or layer.
    fn narrowed(&self) -> Option<&'static str> {
        self.operation.as_ref().map(|_| "operation").or(self.layer.as_ref().map(|_| "layer"))
    }

    fn check_stage(&self, stages: &[Stage]) -> Option<Diagnostic> {
        let measured: Vec<&Stage> = stages.iter().filter(|s| s.head.measured).collect();
        if let Some(stage) = &self.stage
            && !measured.iter().any(|measured| measured.is_called(stage))
        {
            let names: Vec<String> = measured.iter().flat_map(|stage| stage.names()).collect();
            let message = format!("No measured stage is called '{stage}'");
            return Some(self.unknown("stage", stage, message, &names).of_stages());
        }
        let operation = self.operation.as_ref()?;
        let is_named =
            |stage: &&&Stage| self.stage.as_ref().is_none_or(|name| stage.is_called(name));
        let mut operations: Vec<_> =
            measured.iter().filter(is_named).flat_map(|stage| stage.task.operations()).collect();
        operations.sort();
        operations.dedup();
        let message = match &self.stage {
            None => format!("No measured stage does '{operation}'"),
            Some(stage) => format!("Stage '{stage}' does no '{operation}'"),
        };
        (!operations.contains(operation))
            .then(|| self.unknown("operation", operation, message, &operations).of_stages())
    }

    fn check_layer(&self, variants: &[VariantStack]) -> Option<Diagnostic> {
        let layer = self.layer.as_ref()?;
        // Devices have figures too.
        let names = variants.iter().flat_map(VariantStack::names);
        let mut layers: Vec<String> = names.map(str::to_owned).collect();
        layers.sort();
        layers.dedup();
        let message = format!("No stack has a layer or a device '{layer}'");
        (!layers.contains(layer)).then(|| self.unknown("layer", layer, message, &layers))
    }

    /// Returns the mistake for an unknown name, with the known ones.
    fn unknown(&self, key: &str, name: &str, message: String, known: &[String]) -> Diagnostic {
        let known = known.iter().map(String::as_str);
        Diagnostic::unknown(self.places.at(key), message, name, known)
    }
}

/// Returns the things that have figures of a metric, in words.
fn whose(of: &layers::MetricOwners) -> String {
    let common = [
        (of.loads, "loads"),
        (of.trees, "loads of trees"),
        (of.tree_operations, "operations on trees"),
        (of.ageings, "ageings"),
        (of.commands, "commands"),
        (of.devices, "devices"),
    ];
    let common = common.into_iter().filter(|(has, _)| *has).map(|(_, word)| word);
    let all: Vec<&str> = common.chain(of.kinds.iter().copied()).collect();
    all.join(" and ")
}
