//! An image for what is needed: found in the cache, or built.

use std::fs;
use std::path::PathBuf;

use super::build;
use super::spec::ImageSpec;
use super::stored::Image;
use crate::Result;
use crate::cache::Cache;
use crate::event::{Event, Events};

impl Image {
    /// The image for these needs, when it is in the cache and whole. Needs no network and reads no large file.
    pub fn find(cache: &Cache, spec: &ImageSpec) -> Result<Option<Self>> {
        let key = cache.inside("keys")?.join(spec.key());
        let Ok(id) = fs::read_to_string(&key) else {
            return Ok(None);
        };
        Ok(Self::load(&cache.dir().join("images").join(&id)).ok())
    }

    /// The image for these needs: from the cache, or else built, which needs the Debian mirror.
    pub fn ready(cache: &Cache, spec: &ImageSpec, events: Events) -> Result<Self> {
        let found = |image: Self, events: Events| {
            tracing::debug!(id = %image.id, "image from the cache");
            events(Event::ImageFound { id: image.id.clone() });
            Ok(image)
        };
        if let Some(image) = Self::find(cache, spec)? {
            return found(image, events);
        }
        let _lock = cache.lock_build(&mut || events(Event::WaitingForBuild))?;
        // Another process may have built it while this one waited.
        match Self::find(cache, spec)? {
            Some(image) => found(image, events),
            None => {
                tracing::info!(key = %spec.key(), "build an image");
                build::build(cache, spec, &spec.key(), events)
            }
        }
    }

    /// Returns the archive (`.deb`) of a package of the guests' distribution, to read its contents: nothing is installed. It comes from the cache, or
    /// else from the Debian mirror. `stem` is the beginning of the name of the package with a version that `name` stands for: `linux-source-` of
    /// `linux-source`.
    pub fn archive(cache: &Cache, spec: &ImageSpec, name: &str, stem: &str) -> Result<PathBuf> {
        let _lock = cache.lock_build(&mut || {})?;
        build::archive(cache, spec, name, stem)
    }
}
