//! Measures the time from the command to the first step in the guest, over the whole recipe.

use std::time::{Duration, Instant};

use crate::accel::{Accelerator, AcceleratorChoice};
use crate::cache::Cache;
use crate::event::Events;
use crate::facts::Timings;
use crate::image::{Image, ImageSpec};
use crate::link::FrameKind;
use crate::spec::VmSpec;
use crate::vm::{Received, Vm};
use crate::{Error, Result};

/// The times of one start of a guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Time from the search of the cache to the first step in the guest.
    pub to_first_step: Duration,
    /// The times to each moment of the start.
    pub timings: Timings,
}

/// Starts a machine and waits for its first step. `prepare` adds disks and mission; the session must say [`crate::GuestSession::first_step`]. The
/// start of this process itself (some milliseconds) is not included.
pub fn start_once(
    cache: &Cache,
    image: &ImageSpec,
    wish: AcceleratorChoice,
    prepare: &dyn Fn(&mut VmSpec),
    events: Events,
) -> Result<Start> {
    let began = Instant::now();
    let image = Image::ready(cache, image, events)?;
    let accelerator = Accelerator::choose(cache, &image, wish, events)?;
    let mut spec = VmSpec::new(cache, image, accelerator);
    prepare(&mut spec);
    let patience = spec.deadline;
    let mut vm = Vm::start(&spec)?;
    loop {
        match vm.recv(patience) {
            Received::Frame(frame) if frame.kind == FrameKind::FirstStep => {
                return Ok(Start { to_first_step: began.elapsed(), timings: vm.facts().timings });
            }
            Received::Frame(_) | Received::Nothing => {}
            Received::Ended(end) => {
                let console = end.console_tail.lines().collect::<Vec<_>>().join("; ");
                return Err(Error::Qemu { why: format!("{}; its console: {console}", end.ending) });
            }
        }
    }
}
