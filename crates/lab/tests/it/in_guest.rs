//! The session in the guest, by the mission's first word.

use std::process::Command;
use std::time::{Duration, Instant};

use lab::{GuestSession, guest};

type Failure = Box<dyn std::error::Error>;

/// Does what the mission says.
pub(crate) fn run(session: &mut GuestSession, mission: &[u8]) -> Result<(), Failure> {
    session.first_step()?;
    let mission = String::from_utf8_lossy(mission).into_owned();
    let mut words = mission.split_whitespace();
    match words.next().unwrap_or_default() {
        "volume" => volume(session),
        "echo" => {
            let large = session.recv(Duration::from_secs(60)).ok_or("nothing came")?;
            Ok(session.payload(&large)?)
        }
        "interrupt" => until_interrupted(session),
        "shell" => guest::shell(session).map(|_status| ()).map_err(Failure::from),
        "crash" => Ok(std::fs::write("/proc/sysrq-trigger", "c")?),
        "hang" => loop {
            std::thread::sleep(Duration::from_secs(1));
        },
        "panic" => panic!("out of {}", "words"),
        "die" => tool(session, &["busybox", "kill", "-9", &std::process::id().to_string()]),
        "off" => tool(session, &["busybox", "poweroff", "-f"]),
        "write" => write(session),
        "processors" => Ok(session.payload(&std::fs::read("/sys/devices/system/cpu/online")?)?),
        "kernel" => Ok(session.payload(&std::fs::read("/proc/sys/kernel/osrelease")?)?),
        other => Err(format!("no such mission: {other}").into()),
    }
}

fn until_interrupted(session: &GuestSession) -> Result<(), Failure> {
    let sender = session.sender();
    session.on_interrupt(move |count| drop(sender.payload(format!("heard {count}").as_bytes())));
    let began = Instant::now();
    while session.interrupts() < 2 {
        if began.elapsed() > Duration::from_secs(30) {
            return Err("no second interrupt".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Raises a VDO volume, reads its statistics, takes it down.
fn volume(session: &GuestSession) -> Result<(), Failure> {
    let data = session.disk("data").display().to_string();
    tool(session, &["vgcreate", "lab", &data])?;
    tool(
        session,
        &["lvcreate", "--yes", "--type", "vdo", "-n", "vol", "-L", "6G", "-V", "4G", "lab/pool"],
    )?;
    tool(session, &["dmsetup", "message", "lab-pool-vpool", "0", "stats"])?;
    tool(session, &["lvremove", "--yes", "lab/vol"])?;
    tool(session, &["vgremove", "--yes", "lab"])?;
    tool(session, &["dmsetup", "ls"])
}

/// Writes 32 MiB to the disk, waits for a word, discards them, waits for another.
fn write(session: &GuestSession) -> Result<(), Failure> {
    let data = session.disk("data").display().to_string();
    let to = format!("of={data}");
    tool(session, &["busybox", "dd", "if=/dev/zero", &to, "bs=1M", "count=32", "conv=fsync"])?;
    session.recv(Duration::from_secs(30)).ok_or("no word")?;
    tool(session, &["busybox", "blkdiscard", &data])?;
    session.recv(Duration::from_secs(30)).ok_or("no word")?;
    Ok(())
}

/// Runs a tool and sends what it said; a tool that fails is a failure.
fn tool(session: &GuestSession, words: &[&str]) -> Result<(), Failure> {
    let output = Command::new(words[0]).args(&words[1..]).output()?;
    let message = [output.stdout, output.stderr].concat();
    session.payload(&message)?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}: {}: {}", words.join(" "), output.status, String::from_utf8_lossy(&message))
        .into())
}
