//! The kernels of a plan: found by the plan's names for them, and put into images before anything starts.

use std::collections::BTreeMap;
use std::path::Path;

use lab::{Cache, Image, ImageSpec, KernelChoice, Kernels, OwnKernel};
use plan::{Needs, Plan};

use crate::failure::Failure;

/// A kernel that a plan names, found.
pub struct Found {
    /// The exact name that the plan has for it now: its release, with a hash for a kernel of the user's own. `None` is the usual kernel.
    pub name: Option<String>,
    choice: KernelChoice,
}

/// Finds the kernels that `plan` names, and replaces the names by exact ones, so that a later run uses the same kernels or is refused.
pub fn find(
    plan: &mut Plan,
    cache: &Cache,
    mirror: Option<&str>,
    events: &mut dyn FnMut(lab::Event),
) -> Result<Vec<Found>, Failure> {
    let named = plan.kernels();
    let listed = match named.iter().flatten().any(|name| !is_path(name)) {
        true => Kernels::list(cache, mirror, false, events)?,
        false => Kernels::default(),
    };
    let mut exact: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Vec::new();
    for name in named {
        let Some(name) = name else {
            found.push(Found { name: None, choice: KernelChoice::Usual });
            continue;
        };
        let (exact_name, choice) = match is_path(&name) {
            true => {
                let kernel = OwnKernel::at(Path::new(&name))?;
                (format!("{} {}", kernel.release, kernel.id()), KernelChoice::Own(kernel))
            }
            false => {
                let kernel = listed.choose(&name)?.clone();
                (kernel.release.clone(), KernelChoice::Listed(kernel))
            }
        };
        if let Some((other, _)) = exact.iter().find(|(_, known)| **known == exact_name) {
            let message = format!("{other} and {name} are one kernel, {exact_name}");
            return Err(Failure::usage(message).with_help("leave one of the two out"));
        }
        exact.insert(name, exact_name.clone());
        found.push(Found { name: Some(exact_name), choice });
    }
    plan.name_kernels(&exact);
    Ok(found)
}

fn is_path(name: &str) -> bool {
    name.contains('/')
}

/// Finds or builds the image of each kernel. A kernel that lacks what a layer needs is refused; the error names its variants.
pub fn images(
    plan: &Plan,
    found: Vec<Found>,
    (cache, spec_of): (&Cache, &dyn Fn(&Needs) -> ImageSpec),
    events: &mut dyn FnMut(lab::Event),
) -> Result<BTreeMap<Option<String>, Image>, Failure> {
    let mut images = BTreeMap::new();
    for Found { name, choice } in found {
        let kernel = name.as_deref();
        let needs = Needs { modules: plan.modules_on(kernel), ..plan.needs.clone() };
        let spec = ImageSpec { kernel: choice, ..spec_of(&needs) };
        let image = Image::ready(cache, &spec, events);
        let image = image.map_err(|error| refused(plan, kernel, error))?;
        images.insert(name, image);
    }
    Ok(images)
}

/// Returns the error that names the variants a kernel cannot run, and the options that run the others.
fn refused(plan: &Plan, kernel: Option<&str>, error: lab::Error) -> Failure {
    let lab::Error::MissingModule { module, kernel: release } = &error else { return error.into() };
    let needing = plan.needing(kernel, module);
    let Some(layer) = needing.values().next() else { return error.into() };
    let lacking: Vec<_> = needing.keys().map(String::as_str).collect();
    let message = format!(
        "kernel {release} has no module {module}, which the layer {layer} of {} needs",
        lacking.join("; ")
    );
    let all = plan.facts.variants.iter().map(|variant| variant.name.as_str());
    let others: Vec<_> = all.filter(|name| !lacking.contains(name)).map(only).collect();
    let help: String = match others.is_empty() {
        true => "name a kernel that has it: fathom lab kernels lists those that can be had".into(),
        false => format!("leave them out: {}", others.join(" ")),
    };
    Failure::environment(message).with_help(help)
}

/// The option for one variant, quoted; each variant has its own, since its name may hold commas.
fn only(variant: &str) -> String {
    format!("--only '{variant}'")
}

/// Returns what only the host knows of an image's kernel, as facts of the machines that boot it.
pub fn facts(image: &Image) -> BTreeMap<String, String> {
    let manifest = &image.manifest;
    let package =
        |one: &lab::KernelPackage| format!("{} {} sha256 {}", one.name, one.version, one.sha256);
    let packages: Vec<_> = manifest.kernel_packages.iter().map(package).collect();
    let facts = [
        ("kernel_packages", packages.join(", ")),
        ("kernel_sha256", manifest.kernel_sha256.clone()),
        ("image", image.id.clone()),
    ];
    let known = facts.into_iter().filter(|(_, fact)| !fact.is_empty());
    known.map(|(name, fact)| (name.to_owned(), fact)).collect()
}
