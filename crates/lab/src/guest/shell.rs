//! A shell in the guest, on a separate console next to the link.

use std::fs::File;
use std::process::{Command, ExitStatus, Stdio};

use rustix::termios::Winsize;

use super::session::GuestSession;
use crate::{Error, Result};

/// The console's node: the first (and only) virtio console.
const CONSOLE: &str = "/dev/hvc0";

/// Runs a shell on the console that [`crate::shell::attach`] connects to the host's terminal, until it ends.
/// Needs a machine with [`crate::Purpose::Shell`].
pub fn shell(session: &GuestSession) -> Result<ExitStatus> {
    let console = File::options()
        .read(true)
        .write(true)
        .open(CONSOLE)
        .map_err(Error::io("cannot open the console", CONSOLE))?;
    let (rows, columns) = session.terminal;
    if rows > 0 && columns > 0 {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&console, size)
            .map_err(Error::system("cannot set the console's size"))?;
    }
    // Every applet is linked under its name; names of real tools exist already, about which busybox complains.
    let _ = Command::new("/usr/bin/busybox")
        .args(["--install", "-s", "/usr/bin"])
        .stderr(Stdio::null())
        .status();
    let twin = || console.try_clone().map_err(Error::system("cannot share the console"));
    Command::new("/usr/bin/busybox")
        .args(["setsid", "-c", "/usr/bin/busybox", "sh", "-l"])
        .env("TERM", "linux")
        .env("PS1", "guest:\\w# ")
        .current_dir("/root")
        .stdin(twin()?)
        .stdout(twin()?)
        .stderr(twin()?)
        .status()
        .map_err(Error::system("cannot start the shell"))
}
