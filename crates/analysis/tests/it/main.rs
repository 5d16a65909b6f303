//! From a result to what it says.

#[cfg(test)]
mod expectations;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod verdicts;
