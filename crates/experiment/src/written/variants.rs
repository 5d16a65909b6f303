//! The variants of an experiment: the common tables with what each variant, level and scale sets, crossed with the factors. Anything
//! that a key sets can differ: settings of layers, keys of stages, sizes of devices.

mod scaled;
mod unknown;
mod varied;

pub(crate) use unknown::nearest_hint;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::checked::bounds;
use crate::written::corpora::WrittenCorpus;
use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Named, Setting, Table};
use crate::written::environment;
use crate::written::factors::{Factor, Level};
use crate::written::file::{Device, File, WrittenVariant};
use crate::written::machine::{self, MACHINE};
use crate::written::names;
use crate::written::scale::{self, Scale, Scaled};

/// One variant with all that it consists of, as written.
#[derive(Clone)]
pub(crate) struct Variant<'t> {
    pub name: String,
    /// Name of the `[[variant]]` that it comes from, if the file has any.
    pub written: Option<String>,
    /// Level of each factor that it was crossed with.
    pub levels: BTreeMap<String, String>,
    /// Its byte range in the file.
    pub span: Range<usize>,
    pub devices: Vec<Named<Device<'t>>>,
    pub machine: Table<'t>,
    pub environment: Table<'t>,
    pub stack: Vec<Table<'t>>,
    pub stage: Vec<Table<'t>>,
    pub corpora: Vec<WrittenCorpus<'t>>,
}

/// The part of a variant that a setting is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingTarget {
    Device(usize),
    Layer(usize),
    Stage(usize),
    Corpus(usize),
    Machine,
    Environment,
}

/// All variants of an experiment.
pub(crate) struct Variants<'t> {
    /// In order; the first is the base.
    pub all: Vec<Variant<'t>>,
    /// Name of the scale, where the file has it.
    pub scale: Option<String>,
    /// Values that the scale and `[set]` set, as they are written.
    pub scaled: Vec<String>,
}

/// Returns all variants at a scale, and the mistakes; a mistake in one variant leaves out none of the others.
pub(crate) fn all<'t>(file: &File<'t>, scale_wanted: &Scale) -> (Variants<'t>, Vec<Diagnostic>) {
    let mut mistakes = Vec::new();
    let mut variants = written(file);
    // A setting of something that no variant has is reported once; one of something that this variant lacks may be for others.
    let known: Vec<_> = variants.clone();
    for (variant, entry) in variants.iter_mut().zip(&file.variant) {
        for setting in &entry.set {
            mistakes.extend(variant.set(setting).err());
        }
    }
    mistakes.extend(check_factors(file, &known));
    if !file.factor.is_empty() && mistakes.is_empty() {
        variants = crossed(file, &variants, &mut mistakes);
    }
    mistakes.extend(check_names(&variants));
    for Named { value, .. } in &file.scale {
        mistakes.extend(value.check(&file.factor));
        mistakes.extend(value.check_names(&known, &variants));
    }
    mistakes.extend(file.set.check(&file.factor));
    mistakes.extend(file.set.check_names(&known, &variants));
    let mut found = Variants { all: variants, scale: None, scaled: Vec::new() };
    let scale = scale::chosen(&file.scale, scale_wanted).unwrap_or_else(|mistake| {
        mistakes.push(mistake);
        None
    });
    if mistakes.is_empty() {
        found.scale = scale.map(|scale| scale.name.clone());
        for scaled in scale.map(|scale| &scale.value).into_iter().chain([&file.set]) {
            found.scale(scaled, &mut mistakes);
        }
    }
    (found, mistakes)
}

impl<'t> Variants<'t> {
    /// Sets what a scale sets; settings of things that this variant lacks are for others.
    fn scale(&mut self, scale: &Scaled<'t>, mistakes: &mut Vec<Diagnostic>) {
        self.scaled.extend(scale.set.iter().map(Setting::shown));
        for variant in &mut self.all {
            let there = scale.set.iter().filter(|s| variant.find(&s.path).is_some());
            let mut set: Vec<_> = there.collect();
            let changes = scale.variants.iter().filter(|changes| variant.is(&changes.name));
            set.extend(changes.flat_map(|changes| &changes.value));
            for setting in set {
                mistakes.extend(variant.set(setting).err());
            }
        }
        self.scaled.extend(scale.variants.iter().flat_map(|changes| {
            changes.value.iter().map(|setting| format!("{}: {}", changes.name, setting.shown()))
        }));
    }
}

/// Names of the variants, and of the `[[variant]]`s that they come from.
pub(crate) fn names<'a>(variants: &'a [Variant]) -> Vec<&'a str> {
    let written = variants.iter().filter_map(|variant| variant.written.as_deref());
    let mut names = Vec::new();
    for name in written.chain(variants.iter().map(|variant| variant.name.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the variants of the file, before anything is set; one called `default` if it has none.
fn written<'t>(file: &File<'t>) -> Vec<Variant<'t>> {
    let common = Variant {
        name: "default".into(),
        written: None,
        levels: BTreeMap::new(),
        span: file.stack.first().map_or(0..0, Table::at),
        devices: file.devices.clone(),
        machine: file.machine.clone(),
        environment: file.environment.clone(),
        stack: file.stack.clone(),
        stage: file.stage.clone(),
        corpora: file.corpora.clone(),
    };
    if file.variant.is_empty() {
        return vec![common];
    }
    let variant = |entry: &WrittenVariant<'t>| Variant {
        name: entry.name.get_ref().clone(),
        written: Some(entry.name.get_ref().clone()),
        span: entry.name.span(),
        stack: if entry.stack.is_empty() { file.stack.clone() } else { entry.stack.clone() },
        ..common.clone()
    };
    file.variant.iter().map(variant).collect()
}

/// Returns what is wrong with factors, levels and exclusions alone.
fn check_factors(file: &File, variants: &[Variant]) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    for (i, factor) in file.factor.iter().enumerate() {
        if file.factor[..i].iter().any(|other| other.name.get_ref() == factor.name.get_ref()) {
            let message = format!("Two factors are called '{}'", factor.name.get_ref());
            let mistake = Diagnostic::at(factor.name.span(), message, "give each its own name");
            mistakes.push(
                mistake.with(format!("\"another {i}\"")).if_name_is_right(factor.name.get_ref()),
            );
        }
        mistakes.extend(factor.lost(variants));
        mistakes.extend(factor.no_setting(variants));
        mistakes.extend(factor.varied(&file.factor[..i], &file.variant));
    }
    let names: Vec<&str> = file.variant.iter().map(|v| v.name.get_ref().as_str()).collect();
    mistakes.extend(file.exclude.iter().filter_map(|e| e.check(&file.factor, &names)));
    let levels = file.factor.iter().map(|factor| factor.levels.len());
    let combinations = levels.fold(1_usize, usize::saturating_mul);
    if let Some(last) = file.factor.last().filter(|_| combinations > bounds::COMBINATIONS) {
        let message = format!(
            "The levels of the factors make {} combinations; at most {} are possible",
            units::show::grouped(combinations as u64),
            units::show::grouped(bounds::COMBINATIONS as u64)
        );
        let help = "give fewer levels, or ask in several experiments";
        mistakes.push(Diagnostic::at(last.name.span(), message, help));
    }
    mistakes
}

/// Each variant with each combination of the levels of those factors that change anything of it, the last factor changing fastest.
fn crossed<'t>(
    file: &File<'t>,
    variants: &[Variant<'t>],
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<Variant<'t>> {
    let mut all = Vec::new();
    for variant in variants {
        let mut combined = vec![variant.clone()];
        for factor in file.factor.iter().filter(|factor| variant.has(factor)) {
            let cross = |one: &Variant<'t>| -> Vec<_> {
                factor.levels.iter().map(|level| one.at_level(factor, level)).collect()
            };
            let pairs: Vec<_> = combined.iter().flat_map(cross).collect();
            combined = pairs
                .into_iter()
                .map(|(variant, wrong)| {
                    mistakes.extend(wrong);
                    variant
                })
                .collect();
        }
        all.extend(combined);
    }
    let left_out =
        |v: &Variant| file.exclude.iter().any(|e| e.leaves_out(v.written.as_deref(), &v.levels));
    for exclude in &file.exclude {
        if !all.iter().any(|v| exclude.leaves_out(v.written.as_deref(), &v.levels)) {
            let message = "No cell has these levels together, so none is excluded";
            let mistake = Diagnostic::at(exclude.at.clone(), message, "leave this exclusion out");
            mistakes.push(mistake.if_rest_is_right());
        }
    }
    all.retain(|variant| !left_out(variant));
    if let (true, Some(exclude)) = (all.is_empty(), file.exclude.first()) {
        let message = "Every cell is excluded";
        let mistake = Diagnostic::at(exclude.at.clone(), message, "leave an exclusion out");
        mistakes.push(mistake.if_rest_is_right());
    }
    let factors = |v: &Variant| {
        file.factor.iter().find(|f| v.levels.contains_key(f.name.get_ref())).map(|f| f.name.span())
    };
    mistakes.extend(bounds::check(&all, bounds::VARIANTS, "variants", |v| {
        factors(v).unwrap_or_else(|| v.span.clone())
    }));
    mistakes.extend(all.iter().find_map(|v| names::check("a variant", &v.name, &v.span)));
    all
}

fn check_names(variants: &[Variant]) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    for (i, variant) in variants.iter().enumerate() {
        if variants[..i].iter().any(|other| other.name == variant.name) {
            let message = format!("Two variants are called '{}'", variant.name);
            let mistake = Diagnostic::at(variant.span.clone(), message, "give each its own name");
            mistakes.push(mistake.with(format!("\"another {i}\"")).if_name_is_right(&variant.name));
        }
    }
    mistakes.extend(variants.iter().find_map(Variant::one_name_space));
    mistakes
}

impl<'t> Variant<'t> {
    /// Tells whether it, or the `[[variant]]` that it comes from, is called `name`.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name == name || self.written.as_deref() == Some(name)
    }

    /// Every device, layer, stage and corpus, and the machine, by the name that settings have for it, with its place.
    fn things(&self) -> impl Iterator<Item = (SettingTarget, String, Range<usize>)> + '_ {
        let name = |table: &Table, kind: &str| {
            table.text("name").or(table.text(kind)).unwrap_or_default().to_owned()
        };
        let devices = self.devices.iter().enumerate();
        let devices = devices
            .map(|(i, d)| (SettingTarget::Device(i), format!("device.{}", d.name), d.at.clone()));
        let layers = self.stack.iter().enumerate();
        let layers =
            layers.map(move |(i, t)| (SettingTarget::Layer(i), name(t, "layer"), t.place("name")));
        let stages = self.stage.iter().enumerate();
        let stages =
            stages.map(move |(i, t)| (SettingTarget::Stage(i), name(t, "do"), t.place("name")));
        let corpora = self.corpora.iter().enumerate();
        let corpora = corpora
            .map(|(i, t)| (SettingTarget::Corpus(i), format!("corpus.{}", t.name), t.at.clone()));
        let machine = (SettingTarget::Machine, MACHINE.name.to_owned(), self.machine.at());
        let (name, at) = (environment::KEY.name.to_owned(), self.environment.at());
        let environment = (SettingTarget::Environment, name, at);
        devices.chain(layers).chain(stages).chain(corpora).chain([machine, environment])
    }

    /// Returns the part that `path` addresses, and the key in it. Names may have dots: the longest that fits is meant.
    pub(crate) fn find<'a>(&self, path: &'a str) -> Option<(SettingTarget, &'a str)> {
        let fits = |(thing, name, _): (SettingTarget, String, Range<usize>)| {
            // Files of earlier versions call a corpus a tree.
            let old = name.strip_prefix("corpus.").map(|name| format!("tree.{name}"));
            let key = [Some(&name), old.as_ref()].into_iter().flatten();
            let mut keys = key.filter_map(|name| path.strip_prefix(&**name)?.strip_prefix('.'));
            let key = keys.next()?;
            (!name.is_empty() && !key.is_empty()).then_some((name.len(), thing, key))
        };
        let (_, thing, key) = self.things().filter_map(fits).max_by_key(|(length, ..)| *length)?;
        Some((thing, key))
    }

    /// Tells whether a level of the factor changes anything of it.
    fn has(&self, factor: &Factor) -> bool {
        let mut settings = factor.levels.iter().flat_map(|level| &level.set);
        settings.any(|setting| self.find(&setting.path).is_some())
    }

    /// Returns the variant at one level of a factor, and the mistakes. Settings of things that it lacks are skipped.
    fn at_level(&self, factor: &Factor<'t>, level: &Level<'t>) -> (Self, Vec<Diagnostic>) {
        let mut variant = self.clone();
        let factor = factor.name.get_ref();
        let at_level = format!("{factor} {}", level.name);
        let named = self.written.is_some() || !self.levels.is_empty();
        variant.name = if named { format!("{}, {at_level}", self.name) } else { at_level };
        variant.levels.insert(factor.clone(), level.name.clone());
        variant.span = level.at.clone();
        let there = level.set.iter().filter(|setting| self.find(&setting.path).is_some());
        let wrong = there.filter_map(|setting| variant.set(setting).err()).collect();
        (variant, wrong)
    }

    /// Puts a value in place.
    pub(crate) fn set(&mut self, setting: &Setting<'t>) -> Result<(), Diagnostic> {
        let Some((thing, key)) = self.find(&setting.path) else {
            return Err(unknown_target(setting, std::slice::from_ref(self)));
        };
        let (fixed, instead): (&[&str], _) = match thing {
            SettingTarget::Device(_) => (
                &[
                    "like",
                    "faults",
                    "limit",
                    "logical_block",
                    "rotational",
                    "write_cache",
                    "discard",
                    "destage",
                ],
                "all variants of a run have the same virtual disks: name another device, and put the variant's stack on it",
            ),
            SettingTarget::Corpus(_) | SettingTarget::Machine | SettingTarget::Environment => {
                (&[], "")
            }
            SettingTarget::Layer(_) => {
                (&["name", "layer"], "give the variant a stack of its own: [[variant.stack]]")
            }
            SettingTarget::Stage(_) => {
                (&["name", "do", "only"], "write a stage of its own with only = [\"...\"]")
            }
        };
        if fixed.contains(&key) {
            let message = format!("'{}' cannot differ between variants", setting.path);
            return Err(Diagnostic::at(setting.at(), message, instead).fix_by_removing());
        }
        match thing {
            SettingTarget::Layer(i) => self.stack[i].put(key, setting),
            SettingTarget::Stage(i) => self.stage[i].put(key, setting),
            SettingTarget::Machine => {
                self.machine.put(key, setting)?;
                machine::read(&self.machine).map(drop)
            }
            SettingTarget::Environment => {
                self.environment.put(key, setting)?;
                environment::read(&self.environment).map(drop)
            }
            SettingTarget::Corpus(i) => {
                let corpus = self.corpora[i].set(key, setting)?;
                self.corpora[i] = corpus;
                Ok(())
            }
            SettingTarget::Device(i) => {
                let mut device = self.devices[i].clone();
                device.value.table.put(key, setting)?;
                let Named { name, at, value } = device;
                self.devices[i] = Device::read(Named { name, at, value: value.table })?;
                Ok(())
            }
        }
    }

    /// Refuses a name that two things have: devices, layers and stages share one name space.
    fn one_name_space(&self) -> Option<Diagnostic> {
        let plain = |(thing, name, at): (SettingTarget, String, Range<usize>)| {
            let plain =
                name.strip_prefix("device.").filter(|_| matches!(thing, SettingTarget::Device(_)));
            (thing, plain.map(str::to_owned).unwrap_or(name), at)
        };
        // Names of corpora are compared with the others where corpora are checked.
        let things = self.things().filter(|(thing, ..)| !matches!(thing, SettingTarget::Corpus(_)));
        let things: Vec<_> = things.map(plain).collect();
        things.iter().enumerate().find_map(|(i, (thing, name, at))| {
            let word = |thing: &SettingTarget| match thing {
                SettingTarget::Device(_) => "device",
                SettingTarget::Layer(_) => "layer",
                SettingTarget::Stage(_) => "stage",
                SettingTarget::Corpus(_) => "corpus",
                SettingTarget::Machine => "machine",
                SettingTarget::Environment => "environment",
            };
            if matches!(name.as_str(), "device" | "corpus" | "tree")
                && !matches!(thing, SettingTarget::Device(_))
            {
                let message = format!(
                    "A {} cannot be called '{name}', with which names of others begin",
                    word(thing)
                );
                return Some(Diagnostic::at(
                    at.clone(),
                    message,
                    "give it another name: name = \"...\"",
                ));
            }
            // Two things of one kind are reported elsewhere.
            let other = |(other, same, _): &&(SettingTarget, String, Range<usize>)| {
                same == name && word(other) != word(thing)
            };
            let (other, ..) = things[..i].iter().find(other)?;
            let message =
                format!("'{name}' is the name of a {} and of a {}", word(other), word(thing));
            Some(Diagnostic::at(
                at.clone(),
                message,
                "give one of them another name: name = \"...\"",
            ))
        })
    }
}

/// Returns the mistake for a setting of something that none of these variants has.
pub(crate) fn unknown_target(setting: &Setting, variants: &[Variant]) -> Diagnostic {
    let mut names = unknown::Names::default();
    for (thing, name, _) in variants.iter().flat_map(Variant::things) {
        let known = match thing {
            SettingTarget::Layer(_) => &mut names.layers,
            SettingTarget::Stage(_) => &mut names.stages,
            SettingTarget::Device(_) => &mut names.devices,
            SettingTarget::Corpus(_) => &mut names.corpora,
            SettingTarget::Machine | SettingTarget::Environment => &mut names.machine,
        };
        if !known.contains(&name) {
            known.push(name);
        }
    }
    let of = if variants.len() == 1 { "of this variant" } else { "of any variant" };
    unknown::names_nothing(setting, &names, of)
}
