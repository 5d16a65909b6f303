//! Requests over HTTP: each is tried again while its trouble may pass.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sha2::{Digest, Sha256};
use ureq::http::request::Builder;
use ureq::http::{HeaderMap, Request, Response};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, SendBody};

use crate::Event;
use crate::error::{Kind, PushError};
use crate::package::{Package, hex};

/// Pauses between the tries of a request, seconds.
const PAUSES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// Longest time until a connection stands, and until a name is found.
const CONNECT: Duration = Duration::from_secs(10);
/// Longest time without a byte from the server, which may put together parts meanwhile.
const SILENCE: Duration = Duration::from_secs(120);
/// Bodies from this size on wait for the server's word that it takes them, bytes.
const ASK_FIRST: u64 = 64 << 10;
/// Places of the system's certificates on Debian, Red Hat, SUSE and Alpine.
const CERTIFICATES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A client of one server.
#[derive(Debug)]
pub(crate) struct Client(Agent);

/// One request.
pub(crate) struct Ask<'a> {
    pub method: &'static str,
    pub url: &'a str,
    /// The object in words: a signed address is nobody's business.
    pub place: &'a str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Body<'a>,
}

/// The bytes of a request.
pub(crate) enum Body<'a> {
    None,
    /// A part, and the bytes of the whole before it; `None` where it is no part of a result.
    Bytes(&'a [u8], Option<u64>),
    File(&'a Package),
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the size that it names, bytes.
    pub(crate) fn length(&self) -> Option<u64> {
        self.header("content-length").and_then(|length| length.parse().ok())
    }

    /// Returns the status, with the code and the message of S3 where it has them.
    pub(crate) fn reason(&self) -> String {
        let tag = |name: &str| {
            let rest = self.text.split_once(&format!("<{name}>"))?.1;
            rest.split_once("</").map(|(text, _)| text)
        };
        let told: Vec<_> = ["Code", "Message"].iter().filter_map(|name| tag(name)).collect();
        match told.is_empty() {
            true => format!("it answers {}", self.status),
            false => format!("it answers {} {}", self.status, told.join(": ")),
        }
    }
}

/// Trouble with one try.
enum Trouble {
    Passing(String),
    Lasting(PushError),
}

impl Client {
    /// Creates the client of a server; `certificates` is a file of those to trust instead of the system's.
    pub(crate) fn new(scheme: &str, certificates: Option<&Path>) -> Result<Self, PushError> {
        let trusted = match scheme {
            "https" => trusted(certificates)?,
            _ => Vec::new(),
        };
        let tls = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(trusted))).build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("fathom/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(SILENCE))
            .timeout_per_write(Some(SILENCE))
            .tls_config(tls)
            .build();
        Ok(Self(config.new_agent()))
    }

    /// Sends a request, and returns the answer, whatever its status is.
    pub(crate) fn ask(&self, ask: &Ask, on: &mut dyn FnMut(Event)) -> Result<Answer, PushError> {
        self.tries(ask, on, |mut response| {
            let status = response.status().as_u16();
            let text = response.body_mut().with_config().lossy_utf8(true).read_to_string();
            let text = text.map_err(|error| trouble(ask.place, &error))?;
            Ok(Answer { status, headers: response.headers().clone(), text })
        })
    }

    /// Fetches an object, and tells whether it has the bytes of the package.
    pub(crate) fn same(
        &self,
        ask: &Ask,
        package: &Package,
        on: &mut dyn FnMut(Event),
    ) -> Result<Option<bool>, PushError> {
        self.tries(ask, on, |mut response| match response.status().as_u16() {
            200 => {
                let same = package.is(response.body_mut().as_reader());
                same.map(Some).map_err(|error| Trouble::Passing(error.to_string()))
            }
            _ => Ok(None),
        })
    }

    /// Tries a request until its trouble is over, lasts, or came too often.
    fn tries<T>(
        &self,
        ask: &Ask,
        on: &mut dyn FnMut(Event),
        take: impl Fn(Response<ureq::Body>) -> Result<T, Trouble>,
    ) -> Result<T, PushError> {
        let mut pauses = PAUSES.iter();
        loop {
            let why = match self.once(ask, on).and_then(&take) {
                Ok(taken) => return Ok(taken),
                Err(Trouble::Lasting(error)) => return Err(error),
                Err(Trouble::Passing(why)) => why,
            };
            let Some(pause) = pauses.next() else {
                let what = format!("{}: {why}, after {} tries", ask.place, PAUSES.len() + 1);
                return Err(PushError::new(Kind::Environment, what, "try again later"));
            };
            let anew = if matches!(ask.body, Body::File(_)) { " from its beginning" } else { "" };
            on(Event::Note(&format!("{}: {why}; again{anew} in {pause} s", ask.place)));
            thread::sleep(Duration::from_secs_f64(*pause));
        }
    }

    /// Sends a request as it is, with a body or without.
    fn run(
        &self,
        request: Builder,
        body: Option<&mut dyn Read>,
    ) -> Result<Response<ureq::Body>, ureq::Error> {
        match body {
            Some(reader) => self.0.run(request.body(SendBody::from_reader(reader))?),
            None => self.0.run(request.body(SendBody::none())?),
        }
    }

    /// Sends a request once, and tells what kind its trouble is.
    fn once(&self, ask: &Ask, on: &mut dyn FnMut(Event)) -> Result<Response<ureq::Body>, Trouble> {
        let mut request = Request::builder().method(ask.method).uri(ask.url);
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        let length = match ask.body {
            Body::None => None,
            Body::Bytes(bytes, _) => Some(bytes.len() as u64),
            Body::File(package) => Some(package.bytes),
        };
        if let Some(length) = length {
            request = request.header("content-length", length);
            if length >= ASK_FIRST {
                request = request.header("expect", "100-continue");
            }
        }
        let wrong = Cell::new(None);
        let sent = match ask.body {
            Body::None => self.run(request, None),
            Body::Bytes(mut bytes, None) => self.run(request, Some(&mut bytes)),
            Body::Bytes(inner, Some(at)) => self.run(request, Some(&mut Told { inner, at, on })),
            Body::File(package) => {
                let file = package.open().map_err(Trouble::Lasting)?;
                let hash = Sha256::new();
                let inner = Whole { file, left: package.bytes, hash, package, wrong: &wrong };
                self.run(request, Some(&mut Told { inner, at: 0, on }))
            }
        };
        if let Some(error) = wrong.take() {
            return Err(Trouble::Lasting(error));
        }
        let response = sent.map_err(|error| trouble(ask.place, &error))?;
        match response.status().as_u16() {
            status @ (408 | 429 | 500 | 502 | 503 | 504) => {
                Err(Trouble::Passing(format!("it answers {status}")))
            }
            _ => Ok(response),
        }
    }
}

/// A reader that tells how far it is.
struct Told<'a, R> {
    inner: R,
    at: u64,
    on: &'a mut dyn FnMut(Event),
}

impl<R: Read> Read for Told<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.at += read as u64;
        (self.on)(Event::At(self.at));
        Ok(read)
    }
}

/// A reader of a package that keeps back its last bytes if it was changed: the server then lacks them, and takes none of it.
struct Whole<'a> {
    file: File,
    left: u64,
    hash: Sha256,
    package: &'a Package,
    wrong: &'a Cell<Option<PushError>>,
}

impl Read for Whole<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let read = self.file.read(&mut buffer[..most])?;
        self.hash.update(&buffer[..read]);
        self.left -= read as u64;
        let whole = self.left > 0 || hex(&self.hash.clone().finalize()) == self.package.sha256;
        if read == 0 || !whole {
            self.wrong.set(Some(PushError::changed(&self.package.path)));
            return Err(io::Error::other("it was changed"));
        }
        Ok(read)
    }
}

/// Reads the certificates of authorities that are trusted.
fn trusted(named: Option<&Path>) -> Result<Vec<Certificate<'static>>, PushError> {
    let read = |path: &Path| {
        let text = fs::read(path)?;
        let each = parse_pem(&text).filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        });
        io::Result::Ok(each.collect::<Vec<_>>())
    };
    let found = match named {
        Some(path) => read(path).map_err(|error| PushError::file(path, &error))?,
        None => CERTIFICATES.iter().find_map(|path| read(Path::new(path)).ok()).unwrap_or_default(),
    };
    if found.is_empty() {
        let what = "This machine has no certificates of authorities, by which a server is known";
        let help = "install its package ca-certificates, or name a file of them in SSL_CERT_FILE";
        return Err(PushError::new(Kind::Environment, what, help));
    }
    Ok(found)
}

/// Tells trouble that may pass from trouble that lasts.
fn trouble(place: &str, error: &ureq::Error) -> Trouble {
    let lasting = |why: &str, help: &str| {
        let what = format!("{place}: {why}");
        Trouble::Lasting(PushError::new(Kind::Environment, what, help))
    };
    let network = "check the address, and the network of this machine";
    match error {
        ureq::Error::HostNotFound => lasting("no such host is known", network),
        ureq::Error::Timeout(ureq::Timeout::Resolve) => {
            lasting("the name of the host is not found in time", network)
        }
        ureq::Error::Io(error) => match error.kind() {
            ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => {
                lasting(&error.to_string(), network)
            }
            ErrorKind::InvalidData => lasting(
                &error.to_string(),
                "if the server has a certificate of your own, name the file of its authority in SSL_CERT_FILE",
            ),
            // What the resolver of the C library says has neither a kind nor a number.
            _ if error.to_string().starts_with("failed to lookup") => {
                lasting(&error.to_string(), network)
            }
            _ => Trouble::Passing(error.to_string()),
        },
        ureq::Error::Timeout(_) | ureq::Error::ConnectionFailed | ureq::Error::Protocol(_) => {
            Trouble::Passing(error.to_string())
        }
        other => lasting(&other.to_string(), network),
    }
}
