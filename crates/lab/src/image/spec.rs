//! The description of an image to be made.

use twox_hash::XxHash3_128;

use super::assemble;
use super::kernels::Kernel;
use super::own_kernel::OwnKernel;
use crate::needs::ImageNeeds;

/// The Debian suite whose kernel and tools are used by default: its 6.12 kernel has dm-vdo.
pub const SUITE: &str = "trixie";

/// The kernel of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KernelChoice {
    /// The kernel of the userland's suite.
    #[default]
    Usual,
    /// One of [`super::Kernels`].
    Listed(Kernel),
    /// A kernel that the user built.
    Own(OwnKernel),
}

/// The description of an image to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSpec {
    /// The packages, kernel modules, programs and files that must be in it.
    pub needs: ImageNeeds,
    /// The Debian suite of all but the kernel.
    pub suite: String,
    /// The kernel.
    pub kernel: KernelChoice,
    /// The address that packages come from; `None`: the Debian mirror of this machine's apt. Not part of the image's identity.
    pub mirror: Option<String>,
}

impl ImageSpec {
    /// An image of the usual suite with its kernel and these needs.
    pub fn new(needs: ImageNeeds) -> Self {
        Self { needs, suite: SUITE.to_owned(), kernel: KernelChoice::Usual, mirror: None }
    }

    /// A hash of everything that decides what is in the image, except the versions of packages; for a kernel other than the usual one, its packages'
    /// versions count too.
    pub(super) fn key(&self) -> String {
        let needs = self.needs.canonical();
        let mut hash = Hash::default();
        hash.list([&self.userland_key()]);
        hash.list(&needs.modules);
        hash.list(&needs.faster);
        match &self.kernel {
            KernelChoice::Usual => {}
            KernelChoice::Listed(kernel) => {
                hash.list([&kernel.release]);
                hash.list(kernel.packages.iter().map(|package| &package.sha256));
            }
            KernelChoice::Own(kernel) => hash.list([&kernel.key]),
        }
        hash.key()
    }

    /// A hash of everything that decides what is in the userland, except the packages' versions.
    pub(super) fn userland_key(&self) -> String {
        let needs = self.needs.canonical();
        let mut hash = Hash::default();
        hash.list(&needs.packages);
        hash.list(&needs.tools);
        hash.list(needs.files.iter().flat_map(|(path, text)| [path, text]));
        hash.list([self.suite.as_str(), assemble::RECIPE]);
        hash.key()
    }
}

/// A hash of lists of texts.
struct Hash(XxHash3_128);

impl Default for Hash {
    fn default() -> Self {
        Self(XxHash3_128::with_seed(0))
    }
}

impl Hash {
    fn list<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) {
        for text in texts {
            self.0.write(text.as_ref().as_bytes());
            self.0.write(&[0]);
        }
        self.0.write(&[1]);
    }

    fn key(&self) -> String {
        format!("{:032x}", self.0.finish_128())
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

    #[test]
    fn images_of_other_kernels_have_keys_of_their_own_and_one_userland() {
        let kernel = |release: &str| Kernel {
            release: release.into(),
            version: "6.1.176-1".into(),
            suite: "bookworm".into(),
            packages: Vec::new(),
            gone: Vec::new(),
        };
        let usual = ImageSpec::new(ImageNeeds::new(&["lvm2"], &["dm-mod"], &["lvm"]));
        let with = |kernel| ImageSpec { kernel: KernelChoice::Listed(kernel), ..usual.clone() };
        let old = with(kernel("6.1.0-50-amd64"));
        assert_ne!(old.key(), usual.key());
        assert_ne!(old.key(), with(kernel("6.1.0-47-amd64")).key());
        assert_eq!(old.userland_key(), usual.userland_key());
        let more = ImageSpec::new(ImageNeeds::new(&["lvm2"], &["dm-mod", "xfs"], &["lvm"]));
        assert_eq!(more.userland_key(), usual.userland_key(), "modules are the kernel's");
        assert_ne!(more.key(), usual.key());
    }
}
