//! From a result to what it says.

#[cfg(test)]
mod figures;
#[cfg(test)]
mod verdicts;
