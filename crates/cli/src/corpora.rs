//! Corpora that are generated from a seed and kept in the cache.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use corpus::{CorpusError, CorpusSpec, Progress};
use lab::{Cache, HeldCorpus};
use plan::{Corpus, Needs};
use sys::interrupt::{Interrupt, Level};

use crate::failure::Failure;
use crate::terminal::say;

/// Time between two reports of progress.
const NOTES: Duration = Duration::from_secs(2);

/// Generated corpora by name, held so that nobody removes them.
pub type HeldCorpora = BTreeMap<String, HeldCorpus>;

/// Returns the generated corpora that `needs` names; those that the cache lacks are generated first. Without any, no cache is opened.
pub fn generated(needs: &Needs, interrupt: &Interrupt) -> Result<HeldCorpora, Failure> {
    if needs.corpora.values().any(|corpus| matches!(corpus, Corpus::Made(_))) {
        return ready(&Cache::open()?, needs, interrupt);
    }
    Ok(BTreeMap::new())
}

/// Returns the generated corpora by name, generating those that the cache lacks.
pub fn ready(cache: &Cache, needs: &Needs, interrupt: &Interrupt) -> Result<HeldCorpora, Failure> {
    let mut made = BTreeMap::new();
    for (name, corpus) in &needs.corpora {
        if let Corpus::Made(spec) = corpus {
            made.insert(name.clone(), place(cache, name, spec, interrupt)?);
        }
    }
    Ok(made)
}

fn place(
    cache: &Cache,
    name: &str,
    spec: &CorpusSpec,
    interrupt: &Interrupt,
) -> Result<HeldCorpus, Failure> {
    let mut waiting = || say("waiting for another process that builds something in the cache");
    let whole = |dir: &std::path::Path| corpus::is_whole(spec, dir);
    cache.corpus(&spec.id(), spec.bytes(), &mut waiting, whole, |dir| {
        say(&format!("making the corpus {name}: {}", spec.describe()));
        let mut noted = Instant::now();
        let mut note = |progress: Progress| {
            if noted.elapsed() >= NOTES {
                noted = Instant::now();
                let percent = 100.0 * progress.done as f64 / progress.of.max(1) as f64;
                say(&format!("  {percent:.0} % of the corpus {name}"));
            }
            match interrupt.level() {
                Level::None => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        };
        corpus::write(spec, dir, &mut note).map_err(|error| match error {
            CorpusError::Stopped => Failure::interrupted(),
            CorpusError::Io { .. } => Failure::environment(error),
            _ => Failure::usage(error),
        })
    })
}
