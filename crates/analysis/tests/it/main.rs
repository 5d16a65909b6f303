//! From a result to what it says.

#[cfg(test)]
mod courses;
#[cfg(test)]
mod effects;
#[cfg(test)]
mod expectations;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod trends;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod verdicts;
