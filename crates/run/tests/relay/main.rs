//! A made-up layer of attributes and UUIDs, and what a run that is killed leaves of it.

#[cfg(test)]
mod killed;
#[cfg(test)]
mod relay;
