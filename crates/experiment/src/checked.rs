//! Checks that need more than one table, or every scale, with the bounds of a file and what follows from all of it.

pub(crate) mod bounds;
pub(crate) mod cache_bounds;
pub(crate) mod every;
pub(crate) mod only;
pub(crate) mod texture;
pub(crate) mod unused;
pub(crate) mod whole;
