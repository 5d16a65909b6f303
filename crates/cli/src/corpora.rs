//! Corpora that are made from a seed, kept in the cache.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use corpus::{CorpusError, CorpusSpec, Progress};
use experiment::{Corpus, Needs};
use lab::Cache;

use crate::failure::Failure;
use crate::terminal::say;

/// Time between two notes of how far it is.
const NOTES: Duration = Duration::from_secs(2);

/// Returns the directories of the corpora that are made, which are made first where the cache has none. Without any, no cache is opened.
pub fn made(needs: &Needs) -> Result<BTreeMap<String, PathBuf>, Failure> {
    if needs.corpora.values().any(|corpus| matches!(corpus, Corpus::Made(_))) {
        return ready(&Cache::open()?, needs);
    }
    Ok(BTreeMap::new())
}

/// Returns the directories of the corpora that are made, by name.
pub fn ready(cache: &Cache, needs: &Needs) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let mut made = BTreeMap::new();
    for (name, corpus) in &needs.corpora {
        if let Corpus::Made(spec) = corpus {
            made.insert(name.clone(), place(cache, name, spec)?);
        }
    }
    Ok(made)
}

fn place(cache: &Cache, name: &str, spec: &CorpusSpec) -> Result<PathBuf, Failure> {
    let mut waiting = || say("waiting for another fathom that builds something in the cache");
    cache.corpus(&spec.id(), spec.bytes(), &mut waiting, |dir| {
        say(&format!("making the corpus {name}: {}", spec.describe()));
        let mut noted = Instant::now();
        let mut note = |progress: Progress| {
            if noted.elapsed() >= NOTES {
                noted = Instant::now();
                let percent = 100.0 * progress.done as f64 / progress.of.max(1) as f64;
                say(&format!("  {percent:.0} % of the corpus {name}"));
            }
            ControlFlow::Continue(())
        };
        corpus::write(spec, dir, &mut note).map_err(|error| match error {
            CorpusError::Io { .. } => Failure::environment(error),
            _ => Failure::usage(error),
        })
    })
}
