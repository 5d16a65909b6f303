//! Content against `reduce`: what is written, judged from its bytes alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(test)]
mod achieved;
#[cfg(test)]
mod domains;
#[cfg(test)]
mod grid;
#[cfg(test)]
mod live;
mod natural;
#[cfg(test)]
mod profile;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod units;
#[cfg(test)]
mod windows;
