//! A server that takes HTTP PUT: one request with all of a package.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::client::{Answer, Ask, Body, Client};
use crate::destination::{AUTHORIZATION, Server};
use crate::error::{Kind, PushError};
use crate::package::Package;
use crate::{Event, Outcome};

/// Stores a package on a server.
pub(crate) fn store(
    server: &Server,
    package: &Package,
    replace: bool,
    on: &mut dyn FnMut(Event),
) -> Result<Outcome, PushError> {
    let url = server.of(&package.name).to_string();
    let client = Client::new(server.url.scheme(), server.certificates.as_deref())?;
    let ask = |method, headers: &[(&'static str, String)], body| {
        let mut headers = headers.to_vec();
        headers.extend(server.authorization.clone().map(|value| ("authorization", value)));
        Ask { method, url: &url, place: &url, headers, body }
    };
    let found = client.ask(&ask("HEAD", &[], Body::None), on)?;
    let there = match found.status {
        200 => {
            let fetched = || ask("GET", &[], Body::None);
            let same = match found.length() {
                Some(length) if length != package.bytes => false,
                _ => client.same(&fetched(), package, on)? == Some(true),
            };
            match same {
                true => return Ok(Outcome::AlreadyThere),
                false if !replace => return Err(PushError::other_bytes(&url)),
                false => true,
            }
        }
        404 | 410 => false,
        _ if replace => false,
        405 | 501 => {
            let what =
                format!("{url}: the server does not say whether it is there ({})", found.status);
            let help = "--replace sends it without asking, and replaces what is there";
            return Err(PushError::new(Kind::Refused, what, help));
        }
        _ => return Err(refused(&url, &found)),
    };
    let digest = STANDARD.encode(bytes_of(&package.sha256));
    let mut headers = vec![
        ("content-type", "application/zstd".to_owned()),
        ("content-digest", format!("sha-256=:{digest}:")),
    ];
    if !replace {
        headers.push(("if-none-match", "*".to_owned()));
    }
    let answer = client.ask(&ask("PUT", &headers, Body::File(package)), on)?;
    match answer.status {
        200..=299 => {}
        // Somebody put it there meanwhile, perhaps a try of ours whose answer was lost.
        412 if client.same(&ask("GET", &[], Body::None), package, on)? == Some(true) => {}
        412 => return Err(PushError::other_bytes(&url)),
        _ => return Err(refused(&url, &answer)),
    }
    // The word of the server that it has all of it.
    let kept = client.ask(&ask("HEAD", &[], Body::None), on)?;
    match (kept.status, kept.length()) {
        (200, Some(length)) if length != package.bytes => {
            let what = format!("{url}: the server kept {length} of {} bytes", package.bytes);
            let help = "remove it there; its log may say why";
            Err(PushError::new(Kind::Environment, what, help))
        }
        _ => Ok(if there { Outcome::Replaced } else { Outcome::Stored }),
    }
}

/// Creates the error for an answer that is a refusal.
fn refused(url: &str, answer: &Answer) -> PushError {
    let what = format!("{url}: {}", answer.reason());
    let help = match answer.status {
        401 | 403 => format!(
            "the server does not allow it: {AUTHORIZATION} is sent as the header Authorization (\"Bearer ...\")"
        ),
        300..=399 => match answer.header("location") {
            Some(to) => format!("the server says that it is at {to}: name that place"),
            None => "name the place where the server really has it".to_owned(),
        },
        404 | 405 | 409 | 501 => {
            "the server takes no PUT there: look whether the folder is there, and whether it may be written".to_owned()
        }
        413 | 507 => "the server has no room for it: it may have a limit, or a full disk".to_owned(),
        _ => "the server's log may say why".to_owned(),
    };
    PushError::new(Kind::Environment, what, help)
}

/// Returns the bytes of a hexadecimal number.
fn bytes_of(hex: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    (0..hex.len()).step_by(2).filter_map(pair).collect()
}
