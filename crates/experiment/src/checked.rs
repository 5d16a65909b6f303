//! Checks that need more than one table, or every scale, with limits on the size of a file and bounds that follow from the plan.

pub(crate) mod bounds;
pub(crate) mod cache_bounds;
pub(crate) mod every;
pub(crate) mod only;
pub(crate) mod texture;
pub(crate) mod unused;
pub(crate) mod whole;
