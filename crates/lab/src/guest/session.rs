//! The session: what the program does in the guest, and its talk with the host.

use std::any::Any;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::config::{BEGAN, MISSION, Up};
use super::{init, kernel_log, port, setup};
use crate::link::{FrameKind, read_frame, write_frame};
use crate::spec::Purpose;
use crate::{Error, Result};

/// Time that the host may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time that the host may take to confirm the last frame.
const UNHEARD: Duration = Duration::from_secs(60);

/// Sends to the host; may be cloned and used from any thread.
#[derive(Clone, Debug)]
pub struct Sender {
    port: Arc<Mutex<File>>,
}

impl Sender {
    /// Sends opaque bytes; waits while the host does not take them.
    pub fn payload(&self, bytes: &[u8]) -> Result<()> {
        self.send(FrameKind::Payload, bytes)
    }

    /// Says that the first step of the plan begins.
    pub fn first_step(&self) -> Result<()> {
        self.send(FrameKind::FirstStep, &[])
    }

    fn send(&self, kind: FrameKind, bytes: &[u8]) -> Result<()> {
        let mut port = self.port.lock().unwrap_or_else(PoisonError::into_inner);
        write_frame(&mut *port, kind, bytes)
    }
}

type Listener = Box<dyn Fn(u32) + Send>;

/// Interrupts that the host has asked for: their number, and the listener that is called for each.
#[derive(Default)]
struct Interrupts {
    count: AtomicU32,
    listener: Mutex<Option<Listener>>,
}

/// The program's view of the guest it runs in.
pub struct GuestSession {
    sender: Sender,
    inbox: Receiver<Vec<u8>>,
    interrupts: Arc<Interrupts>,
    purpose: Purpose,
    pub(super) terminal: (u16, u16),
}

impl GuestSession {
    /// Returns a sender to the host, for other threads.
    pub fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// Sends opaque bytes; waits while the host does not take them.
    pub fn payload(&self, bytes: &[u8]) -> Result<()> {
        self.sender.payload(bytes)
    }

    /// Says that the first step of the plan begins; the host notes the time.
    pub fn first_step(&self) -> Result<()> {
        self.sender.first_step()
    }

    /// The next payload of the host; `None` when none comes in time, or when the host has said that it is done.
    pub fn recv(&self, timeout: Duration) -> Option<Vec<u8>> {
        self.inbox.recv_timeout(timeout).ok()
    }

    /// Returns how many times the host has asked to stop: once means finish cleanly, twice means now.
    pub fn interrupts(&self) -> u32 {
        self.interrupts.count.load(Ordering::Acquire)
    }

    /// Calls `listener` with the count whenever the host asks to stop, from the thread that reads the link.
    pub fn on_interrupt(&self, listener: impl Fn(u32) + Send + 'static) {
        // Interrupts that came before there was a listener count too.
        if self.interrupts() > 0 {
            listener(self.interrupts());
        }
        let mut place = self.interrupts.listener.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Box::new(listener));
    }

    /// The device node of the disk with this role.
    pub fn disk(&self, role: &str) -> PathBuf {
        setup::disk(role)
    }

    /// Returns the purpose of the machine.
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }
}

/// Runs the whole session. An error means that the outcome could not be reported to the host; process 1 tries again.
pub(super) fn run<E: Into<Box<dyn std::error::Error>>>(
    work: impl FnOnce(&mut GuestSession, &[u8]) -> Result<(), E>,
) -> Result<()> {
    let config = setup::config()?;
    let mission = Path::new("/").join(MISSION);
    let mission = std::fs::read(&mission).map_err(Error::io("cannot read", mission))?;
    let port = port::open()?;
    let mut reading = port.try_clone().map_err(Error::system("cannot share the link"))?;
    wait_for_host(&mut reading)?;
    let sender = Sender { port: Arc::new(Mutex::new(port)) };
    sender.send(FrameKind::Up, &up())?;
    let interrupts = Arc::new(Interrupts::default());
    let (heard, last) = channel();
    let inbox = listen(reading, Arc::clone(&interrupts), heard)?;
    let mut session = GuestSession {
        sender: sender.clone(),
        inbox,
        interrupts,
        purpose: config.purpose,
        terminal: config.terminal,
    };
    let failure = if config.purpose == Purpose::Probe {
        None
    } else {
        match catch_unwind(AssertUnwindSafe(|| work(&mut session, &mission))) {
            Ok(outcome) => outcome.err().map(|error| sys::causes::chain(&*error.into())),
            Err(panic) => Some(panic_text(&*panic)),
        }
    };
    finish(&sender, failure.as_deref())?;
    // The last frames may still wait in QEMU, which loses them at power-off.
    let heard = last.recv_timeout(UNHEARD).map_err(|_| ErrorKind::TimedOut);
    heard.map_err(Error::system("the host has not heard how it ended"))
}

/// Reports to the host how the session went. An error means that the report could not be sent; the failure is then on the console.
fn finish(sender: &Sender, failure: Option<&str>) -> Result<()> {
    let (kind, last) = match failure {
        None => (FrameKind::Done, &init::monotonic_ns().to_le_bytes()[..]),
        Some(why) => (FrameKind::Failed, why.as_bytes()),
    };
    let log = sender.send(FrameKind::KernelLog, kernel_log::read().as_bytes());
    let sent = log.and_then(|()| sender.send(kind, last));
    if let (Err(_), Some(why)) = (&sent, failure) {
        init::say(why);
    }
    sent
}

fn up() -> Vec<u8> {
    let began: u64 = std::env::var(BEGAN).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let ms = |ns: u64| ns as f64 / 1e6;
    let clock_ns = init::monotonic_ns();
    let up = Up {
        clock_ns,
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        kernel_ms: ms(began),
        setup_ms: ms(clock_ns.saturating_sub(began)),
    };
    serde_json::to_vec(&up).unwrap_or_default()
}

/// Waits for the first frame. Until the host's end is known to the guest's driver, reading says "end of file".
fn wait_for_host(port: &mut File) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match read_frame(port)? {
            Some(frame) if frame.kind == FrameKind::Hello => return Ok(()),
            Some(frame) => {
                let why = io::Error::other(format!("it began with {:?}", frame.kind));
                return Err(Error::system("the host does not greet")(why));
            }
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            None => return Err(Error::system("the host does not answer")(ErrorKind::TimedOut)),
        }
    }
}

/// Reads the link in a separate thread until the host is gone; the machine powers off then.
fn listen(
    mut port: File,
    interrupts: Arc<Interrupts>,
    heard: mpsc::Sender<()>,
) -> Result<Receiver<Vec<u8>>> {
    let (give, take) = channel();
    let reader = move || {
        let mut give = Some(give);
        loop {
            match read_frame(&mut port) {
                Ok(Some(frame)) => match frame.kind {
                    FrameKind::Payload => {
                        // A session that has stopped reading does not miss these.
                        let _ = give.as_ref().map(|give| give.send(frame.payload));
                    }
                    FrameKind::Interrupt => {
                        let count = interrupts.count.fetch_add(1, Ordering::AcqRel) + 1;
                        let listener =
                            interrupts.listener.lock().unwrap_or_else(PoisonError::into_inner);
                        if let Some(listener) = &*listener {
                            listener(count);
                        }
                    }
                    FrameKind::Finish => give = None,
                    // Nobody waits for it before the end.
                    FrameKind::Heard => {
                        let _ = heard.send(());
                    }
                    _ => {}
                },
                Ok(None) | Err(_) => {
                    init::say("the host is gone");
                    return init::power_off();
                }
            }
        }
    };
    std::thread::Builder::new()
        .name("link".into())
        .spawn(reader)
        .map_err(Error::system("cannot start a thread"))?;
    Ok(take)
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the program panicked in the guest: {}", text.unwrap_or("without a message"))
}
