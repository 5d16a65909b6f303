//! `sweep` of a load: points that are measured one after another in one cell, each with separate figures.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;
use units::{Bytes, Key, key};
use workload::{LoadSpec, OpName};

use crate::checked::bounds;
use crate::written::diagnostic::{Diagnostic, Mend, among, nearest};
use crate::written::document::{List, Named, Places, Setting, Table};
use crate::written::factors;
use crate::written::load as loads;
use crate::written::names;

/// The keys that are swept.
pub(crate) const SWEEP: Key =
    key("sweep", "lists of values by keys of the load", "{ depth = [1, 16] }");
/// The bytes that each job keeps in flight; the block size of a point is its share of them.
const OUTSTANDING: Key = key(
    "outstanding",
    "sizes, each divided among the I/Os in flight by the depths of the same sweep",
    "[\"4k\", \"64k\"]",
);
/// The smallest block of a point, bytes: a sector.
const SECTOR: u64 = 512;
/// The key that declares that the load's writes do not change the state.
const SWEEP_STATE: Key = key(
    "sweep_state",
    "\"steady\": the points may run one after another because the load does not change the state",
    "\"steady\"",
);

/// One point of a sweep.
#[derive(Clone)]
pub struct Point {
    /// The swept keys with their values.
    pub at: BTreeMap<String, String>,
    pub name: String,
    pub spec: LoadSpec,
    pub places: Places,
}

/// A point as written: the load with the values in place.
struct WrittenPoint<'t> {
    at: BTreeMap<String, String>,
    name: String,
    load: Table<'t>,
}

/// Reads the points of the stage of this name; `load` holds the keys that all points have in common.
pub(crate) fn read<'t>(
    (name, measured): (&str, bool),
    keys: Table<'t>,
    mut load: Table<'t>,
    file: &str,
) -> Result<Vec<Point>, Diagnostic> {
    let at = keys.at();
    let steady = load.take::<String>(&SWEEP_STATE)?;
    if let Some(word) = steady.as_ref().filter(|word| word.get_ref() != "steady") {
        let message = format!("sweep_state cannot be '{}'", word.get_ref());
        return Err(Diagnostic::of_key(word.span(), message, &SWEEP_STATE));
    }
    if !measured {
        let message = format!("The sweep of '{name}' is not measured");
        return Err(Diagnostic::at(at, message, "add measure = true"));
    }
    let mut points = Vec::new();
    for WrittenPoint { at, name, load } in written(name, keys, &load)? {
        let places = load.places();
        let spec = loads::read(load, &places, file)?;
        points.push(Point { at, name, spec, places });
    }
    let content = |point: &Point| point.at.keys().any(|key| key.starts_with("content"));
    if let Some(point) = points.iter().find(|point| content(point) && !point.spec.has_content()) {
        let message =
            format!("'{}' writes nothing, so its content makes no difference", point.name);
        let help = "sweep another key, or write: ops = { randwrite = 100 }";
        return Err(Diagnostic::at(at, message, help));
    }
    if steady.is_none() && points.iter().any(|point| point.spec.writes()) {
        let message = format!(
            "The sweep of '{name}' writes: each point would find what the one before it left"
        );
        let help =
            "measure each point in a separate cell ([[factor]]), or say sweep_state = \"steady\"";
        return Err(Diagnostic::at(at, message, help));
    }
    Ok(points)
}

/// Returns the mistake for two points, of a sweep at `at`, that do the same on targets of this size.
pub(crate) fn equal_points(
    points: &[Point],
    target: Option<u64>,
    at: &Range<usize>,
) -> Option<Diagnostic> {
    let meant: Vec<_> = points.iter().map(|point| point.spec.normal_form(target)).collect();
    points.iter().enumerate().find_map(|(i, point)| {
        let same = &points[meant[..i].iter().position(|other| *other == meant[i])?];
        let message = format!("'{}' is the same load as '{}'", point.name, same.name);
        let help = "leave one of the two values out of the sweep";
        Some(Diagnostic::at(at.clone(), message, help))
    })
}

/// Refuses `sweep_state` for a load without a sweep.
pub(crate) fn needless(load: &Table) -> Result<(), Diagnostic> {
    if !load.has(SWEEP_STATE.name) {
        return Ok(());
    }
    let message = "'sweep_state' is about the points of a sweep, and there is none";
    let help = format!("remove it, or add sweep = {}", SWEEP.example);
    Err(Diagnostic::at(load.place(SWEEP_STATE.name), message, help).fix_by_removing())
}

/// Checks that each swept key is a key of the load, and has no value outside of the sweep.
fn check_keys(keys: &[Named<List>], load: &Table) -> Result<(), Diagnostic> {
    let places = load.places();
    for key in keys {
        let name = &key.name;
        if *name == OUTSTANDING.name {
            let has_depth = keys.iter().any(|key| key.name == "depth");
            divides(keys, load)?;
            if !has_depth {
                let message = "'outstanding' is divided by nothing";
                let help = "sweep depth as well: depth = [1, 2, 4]";
                return Err(Diagnostic::at(key.at.clone(), message, help));
            }
            continue;
        }
        if !of_load(name) {
            return Err(no_key(key.at.clone(), name));
        }
        if places.has(name) {
            let message = format!("'{name}' is swept, and has a value outside of the sweep");
            return Err(Diagnostic::at(places.at(name), message, "leave one of the two out")
                .fix_by_removing());
        }
    }
    Ok(())
}

/// Refuses keys that set the block size or the unit of the depth, where the block size follows from `outstanding`.
fn divides(keys: &[Named<List>], load: &Table) -> Result<(), Diagnostic> {
    let places = load.places();
    let other = |name: &str| {
        let parts: Vec<_> = name.split('.').collect();
        ["block_size", "depth_unit"].contains(&name)
            || matches!(parts[..], ["each", _, "block_size"])
    };
    let each = OpName::ALL.map(|op| format!("each.{op}.block_size"));
    let beside = ["block_size", "depth_unit"].into_iter().map(str::to_owned).chain(each);
    let beside = beside.filter(|name| places.has(name)).map(|name| (places.at(&name), name));
    let swept = keys.iter().filter(|key| other(&key.name));
    let mut all = swept.map(|key| (key.at.clone(), key.name.clone())).chain(beside);
    let Some((at, name)) = all.next() else { return Ok(()) };
    let message = match name.as_str() {
        "depth_unit" => {
            "'outstanding' is divided by 'depth' in I/Os, and 'depth_unit' counts otherwise"
        }
        _ => &format!("'{name}' follows from 'outstanding' and 'depth'"),
    };
    Err(Diagnostic::at(at, message, "leave one of the two out").fix_by_removing())
}

/// Returns all points of the stage called `stage`; `load` holds the keys that they have in common. The last key changes fastest.
fn written<'t>(
    stage: &str,
    sweep: Table<'t>,
    load: &Table<'t>,
) -> Result<Vec<WrittenPoint<'t>>, Diagnostic> {
    let at = sweep.at();
    let keys = sweep.lists(&SWEEP)?;
    let lengths = keys.iter().map(|key| key.value.values.len());
    let count = lengths.fold(1_usize, usize::saturating_mul);
    let by_outstanding = keys.iter().any(|key| key.name == OUTSTANDING.name);
    // With `outstanding` more combinations are allowed, since only points whose blocks are whole sectors are measured.
    let most = if by_outstanding { bounds::COMBINATIONS } else { bounds::POINTS };
    let wrong_count = |count: usize| {
        let message = match count {
            1 => "A sweep of a single point".to_owned(),
            _ => format!("A sweep of {count} points"),
        };
        let help =
            format!("give the keys lists of values that make 2 to {} points", bounds::POINTS);
        Diagnostic::at(at.clone(), message, help)
    };
    if !(2..=most).contains(&count) {
        return Err(wrong_count(count));
    }
    check_keys(&keys, load)?;
    let first = WrittenPoint { at: BTreeMap::new(), name: stage.to_owned(), load: load.clone() };
    let mut points = vec![first];
    for Named { name: key, value: List { values, .. }, .. } in &keys {
        let mut next = Vec::new();
        for (point, value) in points.iter().flat_map(|p| values.iter().map(move |v| (p, v))) {
            let Some(shown) = factors::name_of(value.get_ref()) else {
                let help = format!("write {key} = [1, 2]");
                let message = format!("A value of '{key}' in a sweep is a table or a list");
                return Err(Diagnostic::at(value.span(), message, help));
            };
            let mut load = point.load.clone();
            if *key == OUTSTANDING.name {
                bytes(&shown).ok_or_else(|| {
                    Diagnostic::of_key(
                        value.span(),
                        format!("outstanding cannot be {shown}"),
                        &OUTSTANDING,
                    )
                })?;
            } else {
                load.put(key, &Setting::listed(key, value.clone()))?;
            }
            let mut at = point.at.clone();
            at.insert(key.clone(), shown.clone());
            let name = format!("{} {key}={shown}", point.name);
            if let Some(mistake) = names::check("a point of a sweep", &name, &value.span()) {
                return Err(mistake);
            }
            if next.iter().any(|other: &WrittenPoint| other.name == name) {
                let message = format!("{key} = {shown} is in the sweep twice");
                return Err(
                    Diagnostic::at(value.span(), message, "leave one out").fix_by_removing()
                );
            }
            next.push(WrittenPoint { at, name, load });
        }
        points = next;
    }
    if !by_outstanding {
        return Ok(points);
    }
    let whole = divided(points, &at)?;
    if (2..=bounds::POINTS).contains(&whole.len()) {
        Ok(whole)
    } else {
        Err(wrong_count(whole.len()))
    }
}

/// Those of the points whose blocks are whole sectors, each with its block size; `at` is where the sweep stands.
fn divided<'t>(
    points: Vec<WrittenPoint<'t>>,
    at: &Range<usize>,
) -> Result<Vec<WrittenPoint<'t>>, Diagnostic> {
    let mut whole = Vec::new();
    for mut point in points {
        if let Some(block) = share(&point.at) {
            let value = Spanned::new(at.clone(), DeValue::String(block.to_string().into()));
            point.load.put("block_size", &Setting::listed("block_size", value))?;
            whole.push(point);
        }
    }
    Ok(whole)
}

/// The bytes of a block at a point: its part of those in flight; `None` where it is not whole sectors.
fn share(at: &BTreeMap<String, String>) -> Option<u64> {
    let (all, depth) = (bytes(at.get(OUTSTANDING.name)?)?, at.get("depth")?.parse::<u64>().ok()?);
    let block = all.checked_div(depth)?;
    (block * depth == all && block >= SECTOR && block.is_multiple_of(SECTOR)).then_some(block)
}

/// A size as a file has it.
fn bytes(text: &str) -> Option<u64> {
    text.parse::<Bytes>().ok().map(|Bytes(bytes)| bytes)
}

/// Tells whether a load has such a key, or one that it is a part of.
fn of_load(key: &str) -> bool {
    LoadSpec::key(key).or_else(|| LoadSpec::key(key.split('.').next()?)).is_some()
}

/// Returns the mistake for a sweep of something that is not a key of the load.
fn no_key(at: Range<usize>, key: &str) -> Diagnostic {
    let known = || LoadSpec::KEYS.iter().map(|key| key.name);
    let message = format!("A sweep varies keys of the load, and '{key}' is none");
    let instead = nearest(key, known()).map(|near| Mend::Named(near.into()));
    Diagnostic { instead, ..Diagnostic::at(at, message, among(key, known())) }
}
