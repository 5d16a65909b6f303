//! The host's end of a shell in the guest: the terminal in raw mode, connected to the guest's console.

use std::io::{IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::end::End;
use crate::link::Frame;
use crate::vm::{Received, Vm};
use crate::{Error, Result};

/// The character that the guest's terminal takes for the end of the input (Ctrl-D).
const END_OF_INPUT: u8 = 0x04;
/// Interval at which that character is sent again after the end of an input that is not a terminal: a program that does not read yet may lose it.
const INSISTENCE: Duration = Duration::from_millis(300);
/// Longest wait for input or output before the machine's own frames are looked at again.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Connects this process's terminal (or whatever its standard input and output are) to the shell in the guest until
/// the machine ends. Frames of the guest are given to `frame`. Needs a machine with [`crate::Purpose::Shell`].
pub fn attach(vm: &mut Vm, frame: &mut dyn FnMut(Frame)) -> Result<End> {
    let console = vm.take_shell().ok_or_else(|| Error::BadSpec {
        what: "this machine has no shell".into(),
        help: "start it with Purpose::Shell".into(),
    })?;
    let _raw = RawTerminal::enter()?;
    let mut input_open = true;
    let mut output_open = true;
    let mut ended = Instant::now();
    loop {
        let (typed, shown) = wait(&console, input_open, output_open)?;
        if typed {
            input_open = pass_input(&console)?;
        }
        if !input_open && ended.elapsed() >= INSISTENCE {
            ended = Instant::now();
            // A guest that is gone takes no input; its end is seen below.
            let _ = (&console).write_all(&[END_OF_INPUT]);
        }
        if shown {
            output_open = pass_output(&console)?;
        }
        let patience = if output_open { Duration::ZERO } else { Duration::from_millis(100) };
        match vm.recv(patience) {
            Received::Frame(received) => frame(received),
            Received::Nothing => {}
            Received::Ended(end) => {
                // What the guest wrote last may still be in the socket.
                while output_open && wait(&console, false, true)?.1 {
                    output_open = pass_output(&console)?;
                }
                return Ok(end);
            }
        }
    }
}

/// Rows and columns of the terminal, when there is one.
pub(crate) fn terminal_size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(std::io::stdout()).ok()?;
    Some((size.ws_row, size.ws_col))
}

/// Waits at most a tick; tells whether there is input to pass on, and whether there is output.
fn wait(console: &UnixStream, input: bool, output: bool) -> Result<(bool, bool)> {
    let stdin = std::io::stdin();
    let wanted = |wanted: bool| if wanted { PollFlags::IN } else { PollFlags::empty() };
    let mut both = [PollFd::new(&stdin, wanted(input)), PollFd::new(console, wanted(output))];
    match poll(&mut both, Some(&TICK)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(errno) => return Err(Error::system("cannot wait for the terminal")(errno)),
    }
    let ready = |fd: &PollFd, wanted: bool| wanted && !fd.revents().is_empty();
    Ok((ready(&both[0], input), ready(&both[1], output)))
}

/// Passes on what was typed; false when there will be no more.
fn pass_input(mut console: &UnixStream) -> Result<bool> {
    let mut buffer = [0; 4096];
    let got = rustix::io::read(std::io::stdin(), &mut buffer)
        .map_err(Error::system("cannot read the terminal"))?;
    // A guest that is gone takes no input; its end is seen by the caller.
    Ok(console.write_all(&buffer[..got]).is_ok() && got > 0)
}

/// Passes on what the guest shows; false when there will be no more.
fn pass_output(mut console: &UnixStream) -> Result<bool> {
    let mut buffer = [0; 4096];
    let got = console.read(&mut buffer).unwrap_or(0);
    let mut out = std::io::stdout().lock();
    out.write_all(&buffer[..got])
        .and_then(|()| out.flush())
        .map_err(Error::system("cannot write to the terminal"))?;
    Ok(got > 0)
}

/// The terminal in raw mode, so that it passes on every key; its settings are restored when this is dropped.
struct RawTerminal {
    before: Option<Termios>,
}

impl RawTerminal {
    fn enter() -> Result<Self> {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            return Ok(Self { before: None });
        }
        let before =
            tcgetattr(&stdin).map_err(Error::system("cannot read the terminal's settings"))?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&stdin, OptionalActions::Now, &raw)
            .map_err(Error::system("cannot set the terminal"))?;
        Ok(Self { before: Some(before) })
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // An error cannot be reported to anybody any more.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
