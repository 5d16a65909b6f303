//! The end of a machine during a load: at a random moment its cell becomes a value, with which another machine continues.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use results::model::{Row, StageEdge};
use sys::clock::Clock;

use crate::known::KnownState;
use crate::message::Message;
use crate::recorder::Recorder;
use crate::suspended::SuspendedCell;

/// A crash that is due at a moment of the load which begins next.
pub(crate) struct CrashTimer {
    /// Time from the beginning of the load.
    pub moment: Duration,
    /// The cell as it will be then; the last stage of its record is the load.
    pub cell: Box<SuspendedCell>,
    /// The edge at which the stage of the crash begins.
    pub edge: StageEdge,
    pub recorder: Recorder,
    pub clock: Clock,
}

/// A crash that comes unless this is dropped first.
pub(crate) struct ArmedCrash {
    _keep: Sender<()>,
}

impl CrashTimer {
    /// Begins to wait for the moment; `known` is called then, and returns what is known of the targets.
    pub(crate) fn start(
        mut self,
        known: impl FnOnce() -> KnownState + Send + 'static,
    ) -> ArmedCrash {
        let (keep, dropped) = channel();
        std::thread::spawn(move || {
            if dropped.recv_timeout(self.moment) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let now = self.clock.now().0;
            (self.cell.at_ns, self.cell.halt.start_ns, self.edge.at_ns) = (now, now, now);
            self.cell.known = known();
            if let Some(load) = self.cell.record.stages.last_mut() {
                load.end_ns = Some(now);
                let ended = StageEdge {
                    stage: load.index,
                    name: load.name.clone(),
                    measured: load.measured,
                    ended: true,
                    at_ns: now,
                };
                self.recorder.row(&Row::Stage(ended));
            }
            self.recorder.row(&Row::Stage(self.edge));
            // The host ends this machine when it hears that.
            self.recorder.send(Message::Suspended(self.cell));
        });
        ArmedCrash { _keep: keep }
    }
}
