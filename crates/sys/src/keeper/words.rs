//! The messages of a keeper, line by line.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use crate::reap::Reaped;

/// The fate of a program when the process that it works for dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// It is killed, together with everything that it started.
    Tied,
    /// It finishes its work; then the processes that it started are killed.
    Free,
}

impl Bound {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tied => "tied",
            Self::Free => "free",
        }
    }
}

/// One message of a keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Saying {
    /// The keeper is ready.
    Ready,
    /// It created this process, which became the program.
    Began(i32),
    /// The program could not be started, with this error number.
    Failed(i32),
    /// The program has ended.
    Ended { reaped: Reaped, elapsed: Duration },
    /// A process that the program left behind was killed.
    Killed(String),
    /// A process could not be killed.
    Left(String),
    /// This is the last message.
    Done,
}

impl Saying {
    pub(super) fn line(&self) -> String {
        match self {
            Self::Ready => "ready\n".into(),
            Self::Began(pid) => format!("began {pid}\n"),
            Self::Failed(error) => format!("failed {error}\n"),
            Self::Ended { reaped, elapsed } => format!(
                "ended {} {} {} {} {}\n",
                reaped.status.into_raw(),
                reaped.user.as_nanos(),
                reaped.system.as_nanos(),
                reaped.peak_memory_bytes,
                elapsed.as_nanos()
            ),
            Self::Killed(name) => format!("killed {}\n", one_line(name)),
            Self::Left(name) => format!("left {}\n", one_line(name)),
            Self::Done => "done\n".into(),
        }
    }

    pub(super) fn read(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match word {
            "ready" => Self::Ready,
            "began" => Self::Began(rest.parse().ok()?),
            "failed" => Self::Failed(rest.parse().ok()?),
            "ended" => {
                let (status, numbers) = rest.split_once(' ')?;
                let numbers: Vec<u64> =
                    numbers.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
                let [user, system, peak_memory_bytes, elapsed] = numbers[..] else { return None };
                let reaped = Reaped {
                    status: ExitStatus::from_raw(status.parse().ok()?),
                    user: Duration::from_nanos(user),
                    system: Duration::from_nanos(system),
                    peak_memory_bytes,
                };
                Self::Ended { reaped, elapsed: Duration::from_nanos(elapsed) }
            }
            "killed" => Self::Killed(rest.into()),
            "left" => Self::Left(rest.into()),
            "done" => Self::Done,
            _ => return None,
        })
    }
}

fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_it_was_said() {
        let reaped = Reaped {
            status: ExitStatus::from_raw(9),
            user: Duration::from_millis(3),
            system: Duration::from_micros(7),
            peak_memory_bytes: 1 << 20,
        };
        for word in [
            Saying::Ready,
            Saying::Began(7),
            Saying::Failed(2),
            Saying::Ended { reaped, elapsed: Duration::from_nanos(5) },
            Saying::Killed("sleep 63".into()),
            Saying::Left("dd if=/dev/zero of=a b".into()),
            Saying::Done,
        ] {
            let line = word.line();
            assert_eq!(Saying::read(line.strip_suffix('\n').unwrap()), Some(word));
        }
        assert_eq!(Saying::Killed("a\nleft b".into()).line(), "killed a left b\n");
        for line in ["", "began", "began x", "ended 0 1 2", "other"] {
            assert_eq!(Saying::read(line), None, "{line}");
        }
    }
}
