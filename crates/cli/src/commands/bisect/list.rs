//! The list of a bisection: variants between its ends, in the order of the file.

use results::model::VariantFacts;

use crate::args::BisectListArgs;
use crate::failure::Failure;

/// Name of the factor that the plan makes of several kernels.
const KERNEL: &str = "kernel";

/// The names of all candidates, the good end first and the bad one last.
pub fn candidates(
    variants: &[VariantFacts],
    args: &BisectListArgs,
) -> Result<Vec<String>, Failure> {
    let (good, bad) = (place(variants, &args.good)?, place(variants, &args.bad)?);
    if good == bad {
        return Err(Failure::usage(format!("--good and --bad both name '{}'", args.good))
            .with_help("name the two ends of the list"));
    }
    if (good < bad) == args.fixed {
        let (first, wrong, help) = if args.fixed {
            ("good", "--fixed looks for the fix", "leave --fixed out to find what made it worse")
        } else {
            (
                "bad",
                "without --fixed what made it worse is looked for",
                "add --fixed to find the fix",
            )
        };
        let message = format!("The {first} one stands before the other in the list, and {wrong}");
        return Err(Failure::usage(message).with_help(format!("{help}; or sort the list by time")));
    }
    let names = variants.get(good.min(bad)..=good.max(bad)).unwrap_or_default();
    let mut names: Vec<String> = names.iter().map(|variant| variant.name.clone()).collect();
    if args.fixed {
        names.reverse();
    }
    Ok(names)
}

/// The place of the variant of this name, or of the only one on the kernel of this name.
fn place(variants: &[VariantFacts], name: &str) -> Result<usize, Failure> {
    if let Some(place) = variants.iter().position(|variant| variant.name == name) {
        return Ok(place);
    }
    let on = |variant: &VariantFacts| variant.levels.get(KERNEL).is_some_and(|level| level == name);
    let mut of_kernel = variants.iter().enumerate().filter(|(_, variant)| on(variant));
    let names = || variants.iter().map(|variant| variant.name.as_str());
    match (of_kernel.next(), of_kernel.next()) {
        (Some((place, _)), None) => Ok(place),
        (Some(_), Some(_)) => Err(Failure::usage(format!("Several variants run on kernel {name}"))
            .with_help("name the one that is meant with --only")),
        _ => {
            let near = experiment::nearest(name, names());
            let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
            let all: Vec<&str> = names().collect();
            Err(Failure::usage(format!("The list has no '{name}'"))
                .with_help(format!("{near}There are: {}", all.join("; "))))
        }
    }
}
