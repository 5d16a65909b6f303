//! Questions to a running server over its control socket: a question is one line, and the answer is everything until the server closes.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::place::Place;

/// The longest question.
const MAX_QUESTION_BYTES: u64 = 256;
/// The time that a client has to put its question.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time that a server has to answer: it may have to write out all that it holds first.
const WAIT: Duration = Duration::from_secs(60);
/// The first byte of an answer: the question was fulfilled, or refused.
const FULFILLED: &str = "+";
const REFUSED: &str = "-";

/// A question, and the channel for its answer.
#[derive(Debug)]
pub struct Question {
    /// The words of the question.
    pub text: String,
    /// The channel for the answer: a text, or the reason of a refusal.
    pub answer: Sender<Result<String, String>>,
    /// Is closed when the answer is written.
    pub written: Receiver<()>,
}

/// Returns the answer of the server of a place, which has a minute to give it.
///
/// # Errors
/// When there is no server, or the server refuses or does not answer.
pub fn ask(place: &Place, question: &str) -> Result<String> {
    ask_within(place, question, WAIT)
}

fn ask_within(place: &Place, question: &str, wait: Duration) -> Result<String> {
    let path = place.control();
    let mut stream = UnixStream::connect(&path)
        .map_err(|source| Error::NotServed { path: place.path().to_owned(), source })?;
    let mut answer = String::new();
    let answered = stream
        .set_read_timeout(Some(wait))
        .and_then(|()| writeln!(stream, "{question}"))
        .and_then(|()| stream.read_to_string(&mut answer));
    answered.map_err(|error| match error.kind() {
        // The server ended in the meantime.
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            Error::NotServed { path: place.path().to_owned(), source: error }
        }
        ErrorKind::WouldBlock => Error::Silent { path: path.clone(), seconds: wait.as_secs() },
        _ => Error::io(&path, "asked", error),
    })?;
    match (answer.strip_prefix(FULFILLED), answer.strip_prefix(REFUSED)) {
        (Some(answer), _) => Ok(answer.to_owned()),
        (_, Some(what)) => Err(Error::Value {
            what: what.to_owned(),
            help: "fathom uvdo --help says what a volume can be asked".into(),
        }),
        // The server ended before it answered.
        _ => Err(Error::NotServed {
            path: place.path().to_owned(),
            source: std::io::ErrorKind::UnexpectedEof.into(),
        }),
    }
}

/// Answers one client.
pub fn serve(stream: UnixStream, put: impl FnOnce(Question)) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = String::new();
    BufReader::new(stream.try_clone()?.take(MAX_QUESTION_BYTES)).read_line(&mut text)?;
    let (answer, answers) = channel();
    let (_writing, written) = channel();
    put(Question { text: text.trim().to_owned(), answer, written });
    let mut stream = stream;
    match answers.recv() {
        Ok(Ok(text)) => write!(stream, "{FULFILLED}{text}"),
        Ok(Err(why)) => write!(stream, "{REFUSED}{why}"),
        // The server ended.
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_server_that_does_not_answer_is_not_waited_for_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::new(dir.path());
        let _listens = UnixListener::bind(place.control()).unwrap();
        let error = ask_within(&place, "stats", Duration::from_secs(1)).unwrap_err();
        assert!(matches!(error, Error::Silent { seconds: 1, .. }), "{error}");
        assert!(error.help().contains("kill -CONT"));
    }
}
