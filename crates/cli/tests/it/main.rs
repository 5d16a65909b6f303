//! Tests of the whole program. What needs the lab, a browser or root says so when it cannot run.

#[cfg(test)]
mod advise;
#[cfg(test)]
mod age;
#[cfg(test)]
mod architecture;
#[cfg(test)]
mod bisect;
#[cfg(test)]
mod by_hand;
#[cfg(test)]
mod caches;
#[cfg(test)]
mod catalogue;
#[cfg(test)]
mod clean;
#[cfg(test)]
mod cleaned;
mod cleaned_copies;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod control_characters;
#[cfg(test)]
mod counters;
#[cfg(test)]
mod crashed;
#[cfg(test)]
mod damaged;
#[cfg(test)]
mod disks;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod estimate;
#[cfg(test)]
mod every_layer;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod exported;
#[cfg(test)]
mod files;
#[cfg(test)]
mod fio_jobs;
#[cfg(test)]
mod full_disks;
#[cfg(test)]
mod judged;
#[cfg(test)]
mod killed;
mod killed_inside;
#[cfg(test)]
mod lab;
#[cfg(test)]
mod load;
#[cfg(test)]
mod load_options;
#[cfg(test)]
mod load_tree;
#[cfg(test)]
mod loop_device;
#[cfg(test)]
mod machine_keys;
#[cfg(test)]
mod modelled;
#[cfg(test)]
mod moved;
#[cfg(test)]
mod no_effect;
#[cfg(test)]
mod odd_names;
#[cfg(test)]
mod odd_targets;
#[cfg(test)]
mod outputs;
#[cfg(test)]
mod packages;
#[cfg(test)]
mod packed;
#[cfg(test)]
mod page;
#[cfg(test)]
mod program;
#[cfg(test)]
mod pushed;
#[cfg(test)]
mod rebooted;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod remedies;
#[cfg(test)]
mod replaced;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod sequential;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod standard_output;
#[cfg(test)]
mod standing;
#[cfg(test)]
mod table;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod traces;
mod trend;
#[cfg(test)]
mod unchecked;
#[cfg(test)]
mod uvdo;
#[cfg(test)]
mod uvdo_changes;
#[cfg(test)]
mod verification;
#[cfg(test)]
mod verified_targets;
#[cfg(test)]
mod watched;
#[cfg(test)]
mod widths;

/// The program under test.
#[cfg(test)]
const PROGRAM: &str = env!("CARGO_BIN_EXE_fathom");
