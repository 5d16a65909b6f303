//! The equilibrium (rest) that a load reaches: predicted by formula, and observed by each worker in its own part of the tree.

use results::model::EquilibriumFacts;
use tree::{Books, Equilibrium, RestWatch, Settles, TreeSpec};

/// Factor by which a load may exceed the predicted number of operations before it no longer waits for rest.
pub(crate) const PATIENCE: u64 = 4;

/// Predicts the equilibrium of a load before it begins.
pub fn foretold(spec: &TreeSpec) -> EquilibriumFacts {
    let rest = Equilibrium::predict(spec);
    let (never, Equilibrium { population, bytes }) = (rest.never(), rest);
    let both = population.ok().zip(bytes.ok());
    EquilibriumFacts {
        predicted_files: population.ok().map(|rest| rest.level * spec.files as f64),
        predicted_bytes: bytes.ok().map(|rest| rest.level),
        predicted_operations: both.map(|(a, b)| a.operations().max(b.operations())),
        never: never.map(|never| never.why().to_owned()),
        ..EquilibriumFacts::default()
    }
}

/// Watches one worker's part of a tree. Its names are a representative part of all, and what it sees depends on the seed alone.
pub(crate) struct Rest {
    files: Option<RestWatch>,
    bytes: Option<RestWatch>,
    /// Number of operations after which the wait for rest ends.
    most: u64,
}

impl Rest {
    pub(crate) fn new(spec: &TreeSpec, worker: u32) -> Self {
        let Equilibrium { population, bytes } = Equilibrium::predict(spec);
        let part = f64::from(spec.names_of(worker)) / spec.files as f64;
        let watch = |rest: Settles| RestWatch::new((rest.time_constant * part).ceil() as u64);
        let operations = foretold(spec).predicted_operations.unwrap_or_default() as f64 * part;
        Self {
            files: population.ok().map(watch),
            bytes: bytes.ok().map(watch),
            most: PATIENCE * operations.ceil() as u64,
        }
    }

    /// Notes the files and bytes after an operation.
    #[inline]
    pub(crate) fn note(&mut self, books: &Books) {
        if let Some(files) = &mut self.files {
            files.note(f64::from(books.files()));
        }
        if let Some(bytes) = &mut self.bytes {
            bytes.note(books.bytes() as f64);
        }
    }

    /// Number of this worker's operations after which the files, and their bytes, were at rest.
    pub(crate) fn seen(&self) -> [Option<u64>; 2] {
        [&self.files, &self.bytes].map(|watch| watch.as_ref().and_then(RestWatch::settled))
    }

    /// Tells whether there is nothing left to wait for after this many operations.
    #[inline]
    pub(crate) fn is_over(&self, operations: u64) -> bool {
        operations >= self.most || self.seen().iter().all(Option::is_some)
    }
}
