//! Process 1 of the lab's guest, and the session it starts: the guest's half of a run.

use std::path::Path;
use std::process::ExitCode;

use lab::guest::{GuestSession, Sender};
use plan::{Corpus, Needs};
use run::guest::Site;
use run::{Message, Mission, RunError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sys::interrupt::{Interrupt, Level};

/// The guest's end of the link, as the run sees it.
#[derive(Clone)]
struct Up(Sender);

impl run::guest::Link for Up {
    fn payload(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        self.0.payload(bytes).map_err(|error| RunError::Gone(error.into()))
    }

    fn first_step(&mut self) -> Result<(), RunError> {
        self.0.first_step().map_err(|error| RunError::Gone(error.into()))
    }
}

/// Runs the guest's half; `measure` does what an order says, on the top of a stack that is up, and tells lines. In process 1 this never
/// returns: it ends with the machine's power.
pub fn main<Order: Serialize + DeserializeOwned>(
    measure: impl FnOnce(&Order, &str, &Interrupt, &mut dyn FnMut(&str)) -> Result<Message, String>,
) -> ExitCode {
    lab::guest::main(|session: &mut GuestSession, mission: &[u8]| {
        let interrupt = Interrupt::new();
        let wish = interrupt.clone();
        session.on_interrupt(move |count| {
            wish.request(if count > 1 { Level::Now } else { Level::Finish });
        });
        work(session, mission, &interrupt, measure)
    })
}

/// Does what the mission says.
fn work<Order: Serialize + DeserializeOwned>(
    session: &mut GuestSession,
    mission: &[u8],
    interrupt: &Interrupt,
    measure: impl FnOnce(&Order, &str, &Interrupt, &mut dyn FnMut(&str)) -> Result<Message, String>,
) -> Result<(), Box<dyn std::error::Error>> {
    let link = Up(session.sender());
    let site = Site { disk: &|role| session.disk(role).display().to_string(), corpus: &corpus };
    match Mission::<Order>::decode(mission)? {
        Mission::Shell => {
            session.first_step()?;
            say(session, &format!("a fresh guest{}; leave the shell to end it", to_look()));
            shell(session)?;
        }
        Mission::Cells(cells) => {
            if cells.log {
                let link = link.clone();
                crate::log::begin_in_guest(move |line| {
                    // Only a comfort, too.
                    let _ = link.0.payload(&Message::Log(line).encode());
                });
            }
            run::guest::cells(&cells, link, interrupt, &site, &|patience| session.recv(patience))?;
        }
        Mission::KeepStack(held) => {
            run::guest::keep_stack(&held, link, interrupt, &site, |target| {
                say(
                    session,
                    &format!(
                        "the stack is up: {target}{}; leave the shell to take it down",
                        to_look()
                    ),
                );
                if let Err(error) = shell(session) {
                    say(session, &error);
                }
            })?;
        }
        Mission::Measure { held, order } => {
            let mut outcome = Ok(());
            let ended = run::guest::keep_stack(&held, link, interrupt, &site, |target| {
                let done = measure(&order, target, interrupt, &mut |text| say(session, text));
                outcome = done.and_then(|message| {
                    session.payload(&message.encode()).map_err(|error| error.to_string())
                });
            });
            outcome?;
            ended?;
        }
    }
    Ok(())
}

/// Programs to look around with, of those that the guest really has: `, with lsblk and vdostats to look at it`.
fn to_look() -> String {
    let mut tools = Needs::by_hand(layers::kinds()).tools;
    tools.retain(|tool| Path::new("/usr/bin").join(tool).exists());
    if tools.is_empty() {
        return String::new();
    }
    format!(", with {} to look at it", units::show::names(&tools))
}

/// Returns the path of a corpus in the guest.
fn corpus(name: &str, corpus: &Corpus) -> String {
    match corpus {
        Corpus::Package(package) => lab::supply::package_corpus(package),
        Corpus::Directory { .. } | Corpus::Made(_) => lab::supply::directory(name),
    }
}

fn shell(session: &GuestSession) -> Result<(), String> {
    lab::guest::shell(session).map(|_| ()).map_err(|error| error.to_string())
}

fn say(session: &GuestSession, text: &str) {
    let note = run::guest::notice(text);
    // Best effort: if the host is gone, the guest is switched off anyway.
    let _ = session.payload(&note);
}
