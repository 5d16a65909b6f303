//! The choice of an accelerator: KVM when a probe boot of our own guest proves that it works, emulation otherwise.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::accel::{Accelerator, AcceleratorChoice, AcceleratorKind};
use crate::cache::Cache;
use crate::event::{Event, Events};
use crate::image::Image;
use crate::link::FrameKind;
use crate::spec::{Purpose, VmSpec};
use crate::vm::{Received, Vm};
use crate::{Error, Result};

/// Time that the probe boot may take. A node that can be opened proves nothing: KVM can hang without a word.
const PROBE: Duration = Duration::from_secs(5);
/// The node of KVM.
const NODE: &str = "/dev/kvm";

/// The outcome of a probe, and the boot, kernel and user that it holds for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    boot_id: String,
    image_kernel: String,
    user: u32,
    works: bool,
    reason: String,
}

impl Accelerator {
    /// The best accelerator that works here, found with `image`; the answer is remembered until the host boots again.
    pub fn choose(
        cache: &Cache,
        image: &Image,
        wish: AcceleratorChoice,
        events: Events,
    ) -> Result<Self> {
        let chosen = match wish {
            AcceleratorChoice::Tcg => tcg("emulation was asked for"),
            AcceleratorChoice::Best | AcceleratorChoice::Kvm => match refused() {
                Some(why) => tcg(&why),
                None => probed(cache, image, events)?,
            },
        };
        if wish == AcceleratorChoice::Kvm && chosen.kind != AcceleratorKind::Kvm {
            return Err(Error::NoKvm { why: chosen.reason });
        }
        events(Event::Accelerator { name: chosen.kind.name(), reason: chosen.reason.clone() });
        Ok(chosen)
    }

    /// Returns what is known without a probe boot: the node is refused, or an earlier probe of this boot said so.
    /// `None` when only a probe could tell.
    pub fn known(cache: &Cache, image: &Image) -> Option<Self> {
        match refused() {
            Some(why) => Some(tcg(&why)),
            None => recall(cache, image).map(Self::from),
        }
    }
}

impl From<Remembered> for Accelerator {
    fn from(known: Remembered) -> Self {
        Self {
            kind: if known.works { AcceleratorKind::Kvm } else { AcceleratorKind::Tcg },
            reason: known.reason,
        }
    }
}

fn tcg(reason: &str) -> Accelerator {
    Accelerator { kind: AcceleratorKind::Tcg, reason: reason.to_owned() }
}

/// Returns why the node cannot be opened, if so.
fn refused() -> Option<String> {
    let error = File::options().read(true).write(true).open(NODE).err()?;
    Some(match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!(
                "there is no {NODE}: the processor or the machine above offers no virtualisation"
            )
        }
        std::io::ErrorKind::PermissionDenied => {
            format!("this user may not open {NODE}; adding the user to the group kvm allows it")
        }
        _ => format!("{NODE} cannot be opened: {error}"),
    })
}

fn probed(cache: &Cache, image: &Image, events: Events) -> Result<Accelerator> {
    if let Some(known) = recall(cache, image) {
        return Ok(known.into());
    }
    events(Event::ProbingKvm { deadline: PROBE });
    let (works, reason) = probe(cache, image)?;
    let found = Remembered {
        boot_id: boot_id(),
        image_kernel: image.manifest.kernel.clone(),
        user: rustix::process::getuid().as_raw(),
        works,
        reason,
    };
    // Without it, the next run probes again.
    if let Ok(text) = serde_json::to_vec(&found) {
        let _ = cache.put("accelerator.json", &text);
    }
    Ok(found.into())
}

fn recall(cache: &Cache, image: &Image) -> Option<Remembered> {
    let text = fs::read(cache.dir().join("accelerator.json")).ok()?;
    let known: Remembered = serde_json::from_slice(&text).ok()?;
    let holds = known.boot_id == boot_id()
        && known.image_kernel == image.manifest.kernel
        && known.user == rustix::process::getuid().as_raw();
    holds.then_some(known)
}

/// Boots the guest under KVM; tells whether it came up, and how long that took, or why it did not.
fn probe(cache: &Cache, image: &Image) -> Result<(bool, String)> {
    let kvm = Accelerator { kind: AcceleratorKind::Kvm, reason: "probe".into() };
    let mut spec = VmSpec::new(cache, image.clone(), kvm);
    spec.purpose = Purpose::Probe;
    spec.cpus = 1;
    spec.deadline = PROBE;
    let began = Instant::now();
    let mut vm = Vm::start(&spec)?;
    loop {
        match vm.recv(PROBE) {
            Received::Frame(frame) if frame.kind == FrameKind::Up => {
                let took = began.elapsed().as_millis();
                return Ok((true, format!("a probe boot under KVM came up in {took} ms")));
            }
            Received::Frame(_) => {}
            Received::Nothing => {
                let most = PROBE.as_secs();
                let why = format!("{NODE} opens, but a guest did not come up within {most} s");
                return Ok((false, why));
            }
            Received::Ended(end) => {
                let why = format!("{NODE} opens, but a probe boot failed: {}", end.ending);
                return Ok((false, why));
            }
        }
    }
}

/// Returns an id that changes whenever the host boots.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
