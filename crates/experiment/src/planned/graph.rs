//! A stack as a graph: its layers joined by what they stand on, raised on paper. Devices are the ends below; what no other
//! layer stands on is a top, and the last entry of the file is the one that loads go to.

use std::collections::BTreeMap;
use std::ops::Range;

use layers::environment::AskedSetting;
use layers::probe::{NamedDevice, PlacedDevice, Probe};
use layers::step::Step;
use layers::{Input, InputKind, Kind, Offer, Place};
use results::model::LayerFacts;
use units::Bytes;

use crate::planned::alike;
use crate::planned::devices::Devices;
use crate::written::diagnostic::{Diagnostic, with_article};
use crate::written::environment;
use crate::written::stacks::{On, VariantStack, WrittenLayer};
use plan::ModelPlan;
use plan::{Needs, PlacedLayer, Target};

/// A stack as it would be raised: all steps, probes and offers, nothing executed.
#[derive(Clone)]
pub(crate) struct StackPlan {
    /// Settings of the kernel around it.
    pub environment: Vec<AskedSetting>,
    pub layers: Vec<PlacedLayer>,
    pub facts: Vec<LayerFacts>,
    pub up: Vec<Step>,
    pub ready: Vec<Step>,
    /// Steps that bring the layers to rest, the uppermost first: what it holds back must reach the ones below before they come to rest.
    pub settle: Vec<Step>,
    pub probes: Vec<Probe>,
    /// Offer of each device and layer, by name.
    pub offers: BTreeMap<String, Offer>,
    /// The last layer, which stages work on unless they name another.
    pub top: Target,
    /// Layers that allocate on first write.
    pub allocate: Vec<String>,
    pub needs: Needs,
    /// Every block device of the stack, the devices first.
    nodes: Vec<NamedDevice>,
    /// The same devices, the uppermost first, each with those that it stands on.
    placed: Vec<PlacedDevice>,
    /// Name of the layer that stands on a device or layer, by the name of the lower one.
    taken: BTreeMap<String, String>,
}

impl StackPlan {
    /// Tells whether it is raised, read and settled by the same steps, however its settings are written.
    pub(crate) fn does_as(&self, other: &Self) -> bool {
        let steps = |plan: &Self| (plan.up.clone(), plan.ready.clone(), plan.settle.clone());
        let rest = |plan: &Self| (plan.probes.clone(), plan.offers.clone(), plan.allocate.clone());
        steps(self) == steps(other) && rest(self) == rest(other) && self.top == other.top
    }
}

/// Raises a variant's stack on paper: every step, probe and wait.
pub(crate) fn build(
    variant: &VariantStack,
    devices: &Devices,
    environment: &[AskedSetting],
    (run_tag, latency_by_layer): (&str, bool),
) -> Result<StackPlan, Vec<Diagnostic>> {
    let mut built = StackPlan::empty();
    let Devices { sizes, models, attributes, recorded, .. } = devices;
    for (role, size) in sizes {
        let device = format!("{{device.{role}}}");
        built.offers.insert(role.clone(), Offer::Block { device, bytes: size.0 });
    }
    let used = |role: &&String| variant.layers.iter().any(|l| l.on.names().any(|on| on == *role));
    let of_devices = devices
        .environment
        .iter()
        .filter(|setting| setting.role.as_ref().is_some_and(|role| used(&role)));
    built.environment = environment.iter().chain(of_devices).cloned().collect();
    built.up = layers::set_up(&built.environment);
    built.needs = environment::needs(&built.environment);
    for role in sizes.keys().filter(used) {
        built.start(role, sizes[role], models.get(role), attributes.get(role));
        if recorded.contains(role) {
            built.record(role, run_tag);
        }
    }
    for (position, layer) in variant.layers.iter().enumerate() {
        let before = position.checked_sub(1).and_then(|before| variant.layers.get(before));
        built.add(layer, before, run_tag).map_err(|mistake| vec![mistake])?;
    }
    built.probes.extend(layers::machine::probes(&built.nodes));
    if latency_by_layer {
        built.measure_latency(run_tag);
    }
    Ok(built)
}

impl StackPlan {
    fn empty() -> Self {
        Self {
            environment: Vec::new(),
            layers: Vec::new(),
            facts: Vec::new(),
            up: Vec::new(),
            ready: Vec::new(),
            settle: Vec::new(),
            probes: Vec::new(),
            offers: BTreeMap::new(),
            // Replaced by the first layer; a stack without layers is refused before.
            top: Target {
                name: String::new(),
                offer: Offer::Block { device: String::new(), bytes: 0 },
            },
            allocate: Vec::new(),
            needs: Needs::default(),
            nodes: Vec::new(),
            placed: Vec::new(),
            taken: BTreeMap::new(),
        }
    }

    /// The layer of this name, as a target.
    pub(crate) fn layer(&self, name: &str) -> Option<Target> {
        self.layers.iter().find(|layer| layer.name == name)?;
        let offer = self.offers.get(name)?.clone();
        Some(Target { name: name.to_owned(), offer })
    }

    /// Tells whether writes to the device of this path are recorded.
    pub(crate) fn records(&self, path: &str) -> bool {
        let device = self.nodes.iter().find(|node| node.path == path);
        device.is_some_and(|device| {
            let recorded = layers::machine::device_source(layers::machine::RUN_BYTES, &device.name);
            self.probes.iter().any(|probe| probe.id == recorded)
        })
    }

    /// Notes that a layer has another size from now on.
    pub(crate) fn resize(&mut self, name: &str, size: u64) {
        let top = (self.top.name == name).then_some(&mut self.top.offer);
        self.offers.get_mut(name).into_iter().chain(top).for_each(|offer| offer.resize(size));
    }

    /// The layer that stands on the device or layer of this name.
    pub(crate) fn stands_on(&self, name: &str) -> Option<&str> {
        self.taken.get(name).map(String::as_str)
    }

    /// The device or layer of this name and all that stands over it, upwards.
    pub(crate) fn upwards<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        std::iter::successors(Some(name), |below| self.stands_on(below))
    }

    /// Tells whether `name` is `upper`, or stands somewhere under it.
    pub(crate) fn reaches(&self, name: &str, upper: &str) -> bool {
        self.upwards(name).any(|above| above == upper)
    }

    /// The layers on which nothing stands.
    pub(crate) fn tops(&self) -> impl Iterator<Item = &PlacedLayer> {
        self.layers.iter().filter(|layer| self.stands_on(&layer.name).is_none())
    }

    /// Name of the uppermost layer over the one of this name.
    pub(crate) fn top_over<'a>(&'a self, name: &'a str) -> &'a str {
        self.upwards(name).last().unwrap_or(name)
    }

    /// Empties a device at the start of every cell.
    fn start(
        &mut self,
        role: &str,
        size: Bytes,
        model: Option<&ModelPlan>,
        attributes: Option<&disk::Attributes>,
    ) {
        let device = format!("{{device.{role}}}");
        self.up.push(layers::fresh(&device));
        let mut settings = BTreeMap::from([("size".to_owned(), size.to_string())]);
        settings.extend(model.map(|model| ("like".to_owned(), model.like.to_string())));
        let faults = model.into_iter().flat_map(|model| &model.faults).enumerate();
        settings.extend(faults.map(|(place, fault)| {
            let number = if place == 0 { String::new() } else { format!(" {}", place + 1) };
            (format!("fault{number}"), fault.to_string())
        }));
        let shown = attributes.into_iter().flat_map(disk::Attributes::shown);
        settings.extend(shown.map(|(key, value)| (key.to_owned(), value)));
        let of_device =
            self.environment.iter().filter(|wanted| wanted.role.as_deref() == Some(role));
        settings.extend(of_device.map(|wanted| (wanted.setting.clone(), wanted.value.clone())));
        let name = role.to_owned();
        let on = BTreeMap::new();
        let computed = Vec::new();
        self.facts.push(LayerFacts { layer: "device".into(), name, settings, on, computed });
        let name = role.to_owned();
        self.placed.push(PlacedDevice { name, path: device.clone(), on: Vec::new() });
        self.nodes.push(NamedDevice { name: role.to_owned(), path: device });
    }

    /// Places the block devices of a layer over those that it stands on: the uppermost of them is called like the layer.
    fn place(&mut self, nodes: &[NamedDevice], on: &BTreeMap<String, String>) {
        let below =
            on.values().filter(|name| self.placed.iter().any(|device| device.name == **name));
        let below: Vec<String> = below.cloned().collect();
        let next = |at: usize| nodes.get(at + 1).map(|next| vec![next.name.clone()]);
        let placed = nodes.iter().enumerate().map(|(at, node)| PlacedDevice {
            name: node.name.clone(),
            path: node.path.clone(),
            on: next(at).unwrap_or_else(|| below.clone()),
        });
        self.placed.splice(0..0, placed.collect::<Vec<_>>());
    }

    /// Measures the latency of every block device of the stack.
    fn measure_latency(&mut self, run_tag: &str) {
        let (step, probe) = layers::machine::measure_latency(self.placed.clone(), run_tag);
        self.up.push(step);
        self.probes.push(probe);
    }

    /// Records the writes to a device, to know the length of runs of consecutive writes.
    fn record(&mut self, role: &str, run_tag: &str) {
        let device = NamedDevice { name: role.to_owned(), path: format!("{{device.{role}}}") };
        let (step, probe) = layers::machine::record_writes(&device, run_tag);
        self.up.push(step);
        self.probes.push(probe);
        let recorded = self.facts.iter_mut().filter(|facts| facts.name == role);
        recorded.for_each(|facts| {
            facts.settings.insert("write_runs".to_owned(), "true".to_owned());
        });
    }

    /// Adds a layer on what it names, or on the one `before` it.
    fn add(
        &mut self,
        written: &WrittenLayer,
        before: Option<&WrittenLayer>,
        run_tag: &str,
    ) -> Result<(), Diagnostic> {
        let Some(kind) = layers::kind(&written.kind) else {
            return Err(Diagnostic::at(
                written.places.at("layer"),
                format!("There is no layer '{}'", written.kind),
                "fathom layers lists them",
            ));
        };
        if self.offers.contains_key(&written.name) {
            return Err(Diagnostic::at(
                written.places.at("name"),
                format!("'{}' is the name of a device and of a layer", written.name),
                "give the layer another name: name = \"...\"",
            ));
        }
        let mistake =
            |e: layers::SettingError| Diagnostic::of_setting(written.places.at(&e.key), &e, kind);
        let layer = (kind.parse)(&written.settings).map_err(mistake)?;
        let on = named_inputs(kind, written, before, &self.offers)?;
        let inputs = self.inputs(kind, written, &on)?;
        if kind.one_block_size {
            alike::block_sizes(written, &on, &self.facts)?;
        }
        let below = on.clone();
        let place = Place { name: &written.name, run_tag, inputs: &inputs };
        let raised = layer.raise(&place).map_err(|error| mistake(error).if_rest_is_right())?;
        self.layers.push(PlacedLayer {
            kind: written.kind.clone(),
            name: written.name.clone(),
            inputs,
            settings: written.settings.clone(),
        });
        self.facts.push(LayerFacts {
            layer: written.kind.clone(),
            name: written.name.clone(),
            settings: layer.settings(),
            on,
            computed: raised.computed,
        });
        self.up.extend(raised.up);
        self.ready.extend(raised.ready);
        self.settle.splice(0..0, raised.settle);
        self.probes.extend(raised.probes);
        self.place(&raised.nodes, &below);
        self.nodes.extend(raised.nodes);
        self.allocate.extend(raised.allocate.map(|_| written.name.clone()));
        self.top = Target { name: written.name.clone(), offer: raised.offer.clone() };
        self.offers.insert(written.name.clone(), raised.offer);
        self.needs =
            std::mem::take(&mut self.needs).with(&Needs::of(&kind.needs, raised.memory_bytes));
        Ok(())
    }

    /// Returns what is under a layer, by the names of its inputs.
    fn inputs(
        &mut self,
        kind: &Kind,
        written: &WrittenLayer,
        named: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Offer>, Diagnostic> {
        let wrong =
            |message: String, help: String| Diagnostic::at(written.places.at("on"), message, help);
        let name = &written.name;
        let mut inputs = BTreeMap::new();
        for input in kind.inputs {
            let below = named.get(input.name);
            if below.is_none() && input.optional {
                continue;
            }
            let Some(below) = below else {
                let message = format!("Layer '{name}' has nothing as its {}", input.name);
                return Err(wrong(
                    message,
                    format!("it is {}: write {}", input.help, example(kind)),
                ));
            };
            let Some(offer) = self.offers.get(below) else {
                let at = written.places.at(&format!("on.{}", input.name));
                return Err(self.no_such(below, name, at));
            };
            if let Some(wanted) = missed(input.wants, offer) {
                let message = format!(
                    "Layer '{name}' needs {wanted} as its {}, which '{below}' is not",
                    input.name
                );
                return Err(wrong(message, "let it stand on another layer".into()));
            }
            inputs.insert(input.name.to_owned(), offer.clone());
            if let Some(other) = self.taken.insert(below.clone(), name.clone()) {
                let (message, help) = if other == *name {
                    let message = format!("'{below}' is two inputs of '{name}'");
                    (message, "let one of them be something else")
                } else {
                    let message = format!("'{below}' is under two layers, '{other}' and '{name}'");
                    (message, "let one of them stand on something else")
                };
                return Err(wrong(message, help.into()));
            }
        }
        Ok(inputs)
    }
}

impl StackPlan {
    /// Returns the mistake for a layer `name` on `below`, which does not exist; if only one thing is free, that is suggested.
    fn no_such(&self, below: &str, name: &str, at: Range<usize>) -> Diagnostic {
        let message = format!(
            "Layer '{name}' stands on '{below}', which is neither a device nor a layer before it"
        );
        let all = || self.offers.keys().map(String::as_str);
        let mistake = Diagnostic::unknown(at, message, below, all());
        match mistake.instead {
            Some(_) => mistake,
            None => {
                let free: Vec<&str> =
                    all().filter(|name| !self.taken.contains_key(*name)).collect();
                mistake.near(below, free)
            }
        }
    }
}

fn names(offers: &BTreeMap<String, Offer>) -> String {
    offers.keys().cloned().collect::<Vec<_>>().join(", ")
}

/// The name of the device or layer under each input of a layer: as `on` says, or else the layer `before` it.
fn named_inputs(
    kind: &Kind,
    written: &WrittenLayer,
    before: Option<&WrittenLayer>,
    offers: &BTreeMap<String, Offer>,
) -> Result<BTreeMap<String, String>, Diagnostic> {
    let wrong =
        |message: String, help: String| Diagnostic::at(written.places.at("on"), message, help);
    let name = &written.name;
    let needed: Vec<_> = kind.inputs.iter().filter(|input| !input.optional).collect();
    let named: BTreeMap<String, String> = match (&written.on, &needed[..]) {
        (On::Before, []) => BTreeMap::new(),
        (_, []) => {
            let message = format!(
                "Layer '{name}' stands on nothing: {} needs no device",
                with_article(kind.name)
            );
            return Err(wrong(message, "leave 'on' out".into()).fix_by_removing());
        }
        (On::Before, [one]) => {
            let Some(before) = before else {
                let message = format!("The lowest layer '{name}' stands on nothing");
                return Err(wrong(
                    message,
                    format!("write on = \"...\" with one of: {}", names(offers)),
                ));
            };
            [(one.name.to_owned(), before.name.clone())].into()
        }
        (On::One(below), [one]) => [(one.name.to_owned(), below.clone())].into(),
        (On::Each(names), _) => names.clone(),
        (On::List(names), _) if names.len() > kind.inputs.len() => {
            let message = format!("Layer '{name}' has {} inputs, and no more", kind.inputs.len());
            return Err(wrong(message, format!("write {}", example(kind))));
        }
        (On::List(names), _) => {
            let inputs = kind.inputs.iter().map(|input| input.name.to_owned());
            inputs.zip(names.iter().cloned()).collect()
        }
        (On::Before | On::One(_), several) => {
            let message = format!("Layer '{name}' needs {} inputs", several.len());
            return Err(wrong(message, format!("write {}", example(kind))));
        }
    };
    if let Some(strange) = named.keys().find(|n| !kind.inputs.iter().any(|i| i.name == **n)) {
        let message = format!("Layer '{name}' has no input '{strange}'");
        return Err(wrong(message, format!("write {}", example(kind))));
    }
    Ok(named)
}

/// Returns what an input needs, in words; `None` where the offer is that.
fn missed(wants: InputKind, offer: &Offer) -> Option<&'static str> {
    match (wants, offer) {
        (InputKind::Block, Offer::Block { .. })
        | (InputKind::Directory, Offer::Directory { .. }) => None,
        (InputKind::Block, _) => Some("a block device"),
        (InputKind::Directory, _) => Some("a directory"),
    }
}

/// Returns how `on` is written for a kind of layer.
fn example(kind: &Kind) -> String {
    if kind.inputs.len() > 2 {
        let needed = kind.inputs.iter().filter(|input| !input.optional);
        let names = vec!["\"...\""; needed.count()].join(", ");
        return format!("on = [{names}], with up to {} names", kind.inputs.len());
    }
    let each = |inputs: &mut dyn Iterator<Item = &Input>| {
        let inputs: Vec<_> = inputs.map(|i| format!("{} = \"...\"", i.name)).collect();
        format!("on = {{ {} }}", inputs.join(", "))
    };
    let needed = kind.inputs.iter().filter(|input| !input.optional).count();
    match (needed, kind.inputs.len()) {
        (1, 1) => "on = \"...\"".into(),
        (1, _) => format!("on = \"...\", or {}", each(&mut kind.inputs.iter())),
        _ => each(&mut kind.inputs.iter().filter(|input| !input.optional)),
    }
}
