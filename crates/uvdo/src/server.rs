//! The loop of a server, which runs in the only thread that has access to the volume.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use serde_json::Value;
use sys::interrupt::{Interrupt, Level};
use units::Bytes;
use volume::{BLOCK, Policy, Recovery, Reply, Request, Settings, Verb, Volume, turn};

use crate::backing::{Backing, Done, Workers};
use crate::control::{self, Question};
use crate::error::{Error, Result};
use crate::format::{GrowOptions, growth, inspect, sizes};
use crate::nbd::{self, Export};
use crate::place::{Place, Sockets};
use crate::requests::Requests;
use crate::statistics::{self, Facts};
use crate::status::status;
use crate::wish::{Asked, Refusal};

/// The longest sleep of a server before it checks if it is to stop.
const NAP: Duration = Duration::from_millis(100);
/// The longest wait for an answer to be written.
const PATIENCE: Duration = Duration::from_secs(2);
/// Messages in the volume, and events from outside it, that are taken before the other is looked at again.
const TURN: usize = 2048;
/// Numbers of the server's own requests, which no client's request has.
const STOP: u64 = u64::MAX;
const CHANGE: u64 = u64::MAX - 1;

/// Choices for a volume at work.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// Settings of the volume; its policy is replaced by the one below.
    pub settings: Settings,
    /// Its write policy; `None` chooses by the device's cache.
    pub policy: Option<Policy>,
    /// The largest discard that goes to the volume as one request.
    pub max_discard: Bytes,
    /// The most memory that it may take; `None` for as much as it needs.
    pub memory: Option<Bytes>,
}

/// The end of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Everything is written out, and the next start has nothing to recover.
    Clean,
    /// The volume was read-only, or became so: a start recovers it. Holds the failure of its backing, if it happened while this server ran.
    ReadOnly(Option<String>),
    /// It was ended at once, as by a power cut: a start recovers it.
    AtOnce,
}

enum Event {
    Asked(Asked),
    Done(Done),
    Question(Question),
}

/// A change of the volume while it runs.
enum Change {
    Policy(Policy),
    Grow,
}

/// A started volume with its sockets.
pub struct Server {
    volume: Volume,
    backing: Backing,
    sockets: Sockets,
    requests: Requests,
    policy: Policy,
    recovery: Recovery,
    /// The client that waits for a change.
    changing: Option<(Change, Sender<Result<String, String>>)>,
    /// Bytes of the volume, for clients that come.
    size: Arc<AtomicU64>,
    /// The most memory that it may take.
    memory: Option<Bytes>,
    settings: Settings,
    /// Tells if the volume takes no writes; new clients learn this when they connect.
    read_only: Arc<AtomicBool>,
    /// The first failure of the backing.
    fault: Option<String>,
    /// Questions of clients that wait for the stop.
    stopping: Vec<Question>,
    /// Tells if the volume was asked to stop.
    asked_to_stop: bool,
    ended: Option<Ended>,
}

impl Server {
    /// Starts the volume on a claimed backing. The sockets are there when this returns.
    pub fn start(mut backing: Backing, place: &Place, options: &StartOptions) -> Result<Self> {
        let path = backing.path().to_owned();
        let failed = |source| Error::Volume { path: path.clone(), source };
        let geometry = inspect(&mut backing)?;
        backing.need(geometry.sizes.device);
        let needed = options.settings.memory_bytes(&geometry);
        if let Some(what) = too_much(needed, options.memory) {
            let help = "raise --memory, or lower --block-map-cache or --index-memory".into();
            return Err(Error::Value { what, help });
        }
        if let Some(free) = sys::memory::available().filter(|free| free.0 < needed) {
            return Err(Error::Value {
                what: format!("the volume takes {needed} bytes of memory, and {} are free", free.0),
                help: "lower --block-map-cache or --index-memory".into(),
            });
        }
        let policy = options.policy.unwrap_or_else(|| Policy::auto(backing.has_volatile_cache()));
        let settings = Settings { policy, ..options.settings.clone() };
        let sockets = place.occupy()?;
        let (volume, recovery) = volume::start(&mut backing, &settings).map_err(failed)?;
        let unit = options.max_discard.0 / BLOCK as u64;
        let logical = geometry.sizes.logical * BLOCK as u64;
        let requests = Requests::new(logical, unit, settings.permits);
        Ok(Self {
            volume,
            backing,
            sockets,
            requests,
            policy,
            recovery,
            changing: None,
            size: Arc::new(AtomicU64::new(logical)),
            memory: options.memory,
            settings,
            fault: None,
            read_only: Arc::default(),
            stopping: Vec::new(),
            asked_to_stop: false,
            ended: None,
        })
    }

    /// Its write policy.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The recovery that its start took.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Serves until a client or `interrupt` asks it to stop. The second interrupt ends it at once, as a power cut would. Clients learn
    /// of the end only after `claim` and the sockets are released, so that their next command finds the volume free.
    pub fn run(mut self, interrupt: &Interrupt, claim: impl Sized) -> io::Result<Ended> {
        let (events, inbox) = channel();
        let done = events.clone();
        let workers = Workers::start(&self.backing, move |end| drop(done.send(Event::Done(end))))?;
        let open = Arc::new(AtomicBool::new(true));
        self.read_only.store(self.volume.stats().read_only, Ordering::Relaxed);
        self.listen(&events, &open)?;
        let mut busy = false;
        while self.ended.is_none() {
            self.hear(&inbox, busy);
            if interrupt.level() != Level::None || !self.stopping.is_empty() {
                open.store(false, Ordering::Relaxed);
                self.stop();
            }
            if interrupt.level() == Level::Now {
                return Ok(Ended::AtOnce);
            }
            busy = self.work(&workers);
        }
        let ended = self.ended.take().unwrap_or(Ended::AtOnce);
        drop(workers);
        let Self { stopping, sockets, backing, .. } = self;
        drop((sockets, backing, claim));
        for Question { answer, written, .. } in stopping {
            let _ = answer.send(Ok(match &ended {
                Ended::Clean => "clean".into(),
                Ended::ReadOnly(Some(fault)) => format!("read-only: {fault}"),
                Ended::ReadOnly(None) | Ended::AtOnce => "read-only".into(),
            }));
            // The process may end after this, and with it an answer that is not yet written.
            let _ = written.recv_timeout(PATIENCE);
        }
        Ok(ended)
    }

    /// Takes events, and waits for one where nothing else is to be done.
    fn hear(&mut self, inbox: &Receiver<Event>, busy: bool) {
        if !busy {
            match inbox.recv_timeout(NAP) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
        inbox.try_iter().take(TURN).for_each(|event| self.take(event));
    }

    fn take(&mut self, event: Event) {
        match event {
            // Nothing may follow the request to stop.
            Event::Asked(asked) if self.asked_to_stop => asked.refuse(Refusal::Stopping),
            Event::Asked(request) => {
                // Also for wishes for which the volume does not flush the backing.
                if request.wish.is_durable() {
                    self.examine();
                }
                self.requests.begin(request);
            }
            // The volume decides what a failure means: the request fails, or the volume is read-only from then on.
            Event::Done(Done { id, result: Ok(block) }) => self.volume.complete(id, Some(block)),
            Event::Done(Done { id, result: Err(error) }) => {
                // If the backing was cut short, more is lost than this operation.
                self.examine();
                self.failed(&error);
                self.volume.complete(id, None);
            }
            Event::Question(question) => self.answer(question),
        }
    }

    /// Checks if the backing has its full length; if not, the volume is read-only from here on.
    fn examine(&mut self) {
        if let Err(error) = self.backing.check_length() {
            self.failed(&error);
            self.volume.fail();
            // Clients that connect after anyone has learned of it must learn of it, too.
            self.read_only.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps the first failure of the backing, which probably caused the others.
    fn failed(&mut self, error: &io::Error) {
        let path = self.backing.path().display();
        self.fault.get_or_insert_with(|| format!("{path}: {error}"));
    }

    /// Lets the volume work for a turn. Tells if there is more to do.
    fn work(&mut self, workers: &Workers) -> bool {
        self.requests.made().into_iter().for_each(|request| self.volume.submit(request));
        let (requests, mut ends) = (&mut self.requests, Vec::new());
        let more =
            turn(&mut self.volume, TURN, &mut |operation| workers.begin(operation), &mut |reply| {
                match reply.id >= CHANGE {
                    true => ends.push(reply),
                    false => requests.ended(reply),
                }
            });
        ends.iter().for_each(|reply| self.take_own_reply(reply));
        self.read_only.store(self.volume.stats().read_only, Ordering::Relaxed);
        more || self.requests.has_room_for_more()
    }

    /// Takes the reply to a request that the server itself made.
    fn take_own_reply(&mut self, reply: &Reply) {
        let done = reply.result.is_ok();
        if reply.id == STOP {
            self.ended =
                Some(if done { Ended::Clean } else { Ended::ReadOnly(self.fault.clone()) });
        } else if let Some((change, answer)) = self.changing.take() {
            let reply = match (&reply.result, change) {
                (Err(failure), _) => Err(failure.to_string()),
                (Ok(_), Change::Policy(policy)) => {
                    self.policy = policy;
                    Ok(policy.name().to_owned())
                }
                (Ok(_), Change::Grow) => Ok(self.grown()),
            };
            let _ = answer.send(reply);
        }
    }

    /// Makes a growth visible to clients; returns the sizes of the volume as JSON.
    fn grown(&mut self) -> String {
        let geometry = *self.volume.geometry();
        let bytes = geometry.sizes.logical * BLOCK as u64;
        self.backing.need(geometry.sizes.device);
        self.requests.resize(bytes);
        self.size.store(bytes, Ordering::Relaxed);
        sizes(&geometry).to_string()
    }

    /// Returns the request for a change that a question asks for, or why it is refused.
    fn change(&mut self, question: &str) -> Result<(Change, Verb), String> {
        let unknown = || format!("the volume does not know the question '{question}'");
        if let Some(policy) = question.strip_prefix("policy ").and_then(Policy::from_name) {
            return Ok((Change::Policy(policy), Verb::Policy(policy)));
        }
        let options = GrowOptions::from_question(question).ok_or_else(unknown)?;
        let geometry = *self.volume.geometry();
        let grown = growth(&mut self.backing, &geometry, &options);
        let (grown, verb) = grown.map_err(|error| error.to_string())?;
        match too_much(self.settings.memory_bytes(&grown), self.memory) {
            Some(what) => Err(what),
            None => Ok((Change::Grow, verb)),
        }
    }

    /// Asks the volume to stop once all wishes are fulfilled, except those for zeros and discards, which may be long and are cut short.
    fn stop(&mut self) {
        self.requests.cut_short();
        if self.requests.is_empty() && self.changing.is_none() && !self.asked_to_stop {
            self.asked_to_stop = true;
            self.volume.submit(Request { id: STOP, verb: Verb::Stop });
        }
    }

    fn answer(&mut self, question: Question) {
        if question.text == "stop" {
            return self.stopping.push(question);
        }
        let Question { text, answer, .. } = question;
        let reply = match text.as_str() {
            "status" => {
                self.examine();
                Ok(self.status().to_string())
            }
            "stats" => Ok(statistics::text(&self.statistics())),
            "stats json" => Ok(self.statistics().to_string()),
            "metrics" => Ok(statistics::metrics(&self.statistics())),
            other => match self.change(other) {
                Ok((change, verb)) if self.changing.is_none() && self.stopping.is_empty() => {
                    self.changing = Some((change, answer));
                    self.volume.submit(Request { id: CHANGE, verb });
                    return;
                }
                Ok(_) => Err("the volume is being changed already, or is stopping".to_owned()),
                Err(why) => Err(why),
            },
        };
        let _ = answer.send(reply);
    }

    fn status(&self) -> Value {
        let backing = self.backing.path().display().to_string();
        let recovered = self.recovery.needed.then_some(self.recovery.entries);
        let (stats, geometry) = (self.volume.stats(), self.volume.geometry());
        let fault = self.fault.as_deref();
        status(&stats, geometry, self.policy.name(), recovered, (&backing, fault))
    }

    fn statistics(&self) -> Value {
        statistics::all(&Facts {
            stats: &self.volume.stats(),
            geometry: self.volume.geometry(),
            cache_pages: self.settings.cache_pages as u64,
            policy: self.policy.name(),
            replayed: self.recovery.needed.then_some(self.recovery.entries),
        })
    }

    /// Lets clients of both sockets in.
    fn listen(&self, events: &Sender<Event>, open: &Arc<AtomicBool>) -> io::Result<()> {
        let size = Arc::clone(&self.size);
        let read_only = Arc::clone(&self.read_only);
        let (to, open, clients) = (events.clone(), Arc::clone(open), Arc::new(AtomicU64::new(0)));
        accept("uvdo0:nbd", self.sockets.nbd.try_clone()?, move |stream| {
            let (to, open) = (to.clone(), Arc::clone(&open));
            let client = clients.fetch_add(1, Ordering::Relaxed);
            let ask = move |request| {
                open.load(Ordering::Relaxed) && to.send(Event::Asked(request)).is_ok()
            };
            let bytes = size.load(Ordering::Relaxed);
            let export = Export { bytes, read_only: read_only.load(Ordering::Relaxed) };
            // A client that breaks the protocol is cut off; there is nobody to tell.
            let _ = nbd::serve(stream, export, client, ask);
        })?;
        let to = events.clone();
        accept("uvdo0:control", self.sockets.control.try_clone()?, move |stream| {
            let to = to.clone();
            let _ = control::serve(stream, move |question| {
                drop(to.send(Event::Question(question)));
            });
        })
    }
}

/// Returns a message if a volume takes more memory than it may.
fn too_much(needed: u64, most: Option<Bytes>) -> Option<String> {
    let most = most.filter(|most| most.0 < needed)?.0;
    Some(format!("the volume takes {needed} bytes of memory, and may take {most}"))
}

/// Starts a thread for every client of a socket.
fn accept(
    name: &str,
    listener: UnixListener,
    serve: impl Fn(UnixStream) + Send + Sync + Clone + 'static,
) -> io::Result<()> {
    let client = name.to_owned();
    let all = move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            // If no thread can be started, the client is disconnected.
            let thread = std::thread::Builder::new().name(client.clone());
            drop(thread.spawn(move || serve(stream)));
        }
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(all).map(drop)
}
