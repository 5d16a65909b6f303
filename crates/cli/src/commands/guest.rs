//! Process 1 of the lab's guest, and the session it starts: the guest's half of a run.

use std::process::ExitCode;

use experiment::Tree;
use lab::guest::{GuestSession, Sender};
use sys::interrupt::{Interrupt, Level};

use super::bench::in_guest::{self, Order};

/// The guest's end of the link, as the run sees it.
#[derive(Clone)]
struct Up(Sender);

impl run::guest::Link for Up {
    fn payload(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.0.payload(bytes).map_err(|error| error.to_string())
    }

    fn first_step(&mut self) -> Result<(), String> {
        self.0.first_step().map_err(|error| error.to_string())
    }
}

/// In process 1 this never returns: it ends with the machine's power.
pub fn main() -> ExitCode {
    lab::guest::main(|session: &mut GuestSession, mission: &[u8]| {
        let interrupt = Interrupt::new();
        let wish = interrupt.clone();
        session.on_interrupt(move |count| {
            wish.request(if count > 1 { Level::Now } else { Level::Finish });
        });
        if mission.is_empty() {
            return shell(session);
        }
        let link = Up(session.sender());
        if let Ok(order) = serde_json::from_slice::<Order>(mission) {
            return compare(session, &order, link, &interrupt);
        }
        let disk = |role: &str| session.disk(role).display().to_string();
        run::guest::serve(mission, link, &interrupt, (disk, tree), |target| {
            say(session, &format!("the stack is up: {target}; leave the shell to take it down"));
            if let Err(error) = shell(session) {
                say(session, &error);
            }
        })
        .map_err(|error| error.to_string())
    })
}

/// Where the guest has a tree.
fn tree(name: &str, tree: &Tree) -> String {
    match tree {
        Tree::Package(package) => lab::supply::package_tree(package),
        Tree::Directory { .. } => lab::supply::directory(name),
    }
}

/// Runs a comparison with fio on the stack that the order names.
fn compare(
    session: &GuestSession,
    order: &Order,
    link: Up,
    interrupt: &Interrupt,
) -> Result<(), String> {
    let mission = serde_json::to_vec(&order.mission).map_err(|error| error.to_string())?;
    let disk = |role: &str| session.disk(role).display().to_string();
    let mut outcome = Ok(());
    let held = run::guest::serve(&mission, link, interrupt, (disk, tree), |target| {
        let done = in_guest::compare(order, target, interrupt, &mut |text| say(session, text));
        outcome = done.and_then(|message| {
            session.payload(&message.encode()).map_err(|error| error.to_string())
        });
    });
    outcome.and(held.map_err(|error| error.to_string()))
}

fn shell(session: &GuestSession) -> Result<(), String> {
    let _ = session.first_step();
    lab::guest::shell(session).map(|_| ()).map_err(|error| error.to_string())
}

fn say(session: &GuestSession, text: &str) {
    let note = run::guest::notice(text);
    // Only a comfort: a host that is gone takes the machine's power away anyway.
    let _ = session.payload(&note);
}
