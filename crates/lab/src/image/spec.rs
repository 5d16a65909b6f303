//! The description of an image to be made.

use super::assemble;
use crate::needs::ImageNeeds;

/// The Debian suite whose kernel and tools are used unless told otherwise: its 6.12 kernel has dm-vdo.
pub const SUITE: &str = "trixie";

/// The description of an image to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSpec {
    /// The packages, kernel modules, programs and files that must be in it.
    pub needs: ImageNeeds,
    /// The Debian suite.
    pub suite: String,
    /// The address that packages come from; `None`: the Debian mirror of this machine's apt. Not part of the image's identity.
    pub mirror: Option<String>,
}

impl ImageSpec {
    /// An image of the usual suite with these needs.
    pub fn new(needs: ImageNeeds) -> Self {
        Self { needs, suite: SUITE.to_owned(), mirror: None }
    }

    /// A hash of everything that decides what is in the image, except the packages' versions.
    pub(super) fn key(&self) -> String {
        let needs = self.needs.canonical();
        let mut hash = twox_hash::XxHash3_128::with_seed(0);
        for list in [&needs.packages, &needs.modules, &needs.tools] {
            for name in list {
                hash.write(name.as_bytes());
                hash.write(&[0]);
            }
            hash.write(&[1]);
        }
        for (path, text) in &needs.files {
            hash.write(path.as_bytes());
            hash.write(&[0]);
            hash.write(text.as_bytes());
            hash.write(&[0]);
        }
        hash.write(&[1]);
        hash.write(self.suite.as_bytes());
        hash.write(assemble::RECIPE.as_bytes());
        format!("{:032x}", hash.finish_128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_depends_on_what_is_needed_and_not_on_how_it_is_said() {
        let key = |packages: &[&str], tools: &[&str]| {
            ImageSpec::new(ImageNeeds::new(packages, &["dm-vdo"], tools)).key()
        };
        assert_eq!(key(&["lvm2", "vdo"], &["lvm"]), key(&["vdo", "lvm2", "vdo"], &["lvm"]));
        assert_ne!(key(&["lvm2", "vdo"], &["lvm"]), key(&["lvm2"], &["vdo", "lvm"]));
        let with = |text: &str| {
            let files = [("etc/x.conf".to_owned(), text.to_owned())].into();
            ImageSpec::new(ImageNeeds { files, ..ImageNeeds::default() }).key()
        };
        assert_ne!(with("a = 1"), with("a = 2"));
        let mut other = ImageSpec::new(ImageNeeds::default());
        other.suite = "sid".into();
        assert_ne!(other.key(), ImageSpec::new(ImageNeeds::default()).key());
    }
}
