//! A server of HTTP/1.1 that speaks as much S3 as a push needs, and fails on demand.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};

/// Faults of the server.
#[derive(Debug, Clone, Default)]
pub struct Behaviour {
    /// So many requests get 503.
    pub busy: usize,
    /// Every request gets this status.
    pub refuse: Option<u16>,
    /// There is no bucket.
    pub no_bucket: bool,
    /// The connection breaks in the midst of this part, so many times.
    pub break_part: Option<(u16, usize)>,
    /// The connection breaks in the midst of a put, so many times.
    pub break_put: usize,
    /// The answer to a request that makes the object is lost, so many times.
    pub lost: usize,
    /// Objects get marks that do not follow from their bytes.
    pub own_marks: bool,
    /// The condition of a request is not known.
    pub no_condition: bool,
    /// After so many requests somebody else puts an object there.
    pub late: Option<(usize, String, Vec<u8>)>,
}

#[derive(Debug, Default)]
struct State {
    behaviour: Behaviour,
    /// Path to the bytes and the mark.
    objects: BTreeMap<String, (Vec<u8>, String)>,
    /// Id to the path and the parts by number.
    uploads: BTreeMap<String, (String, BTreeMap<u16, Vec<u8>>)>,
    begun: usize,
    log: Vec<String>,
}

/// A server in a thread of the test.
pub struct Server {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn new(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State { behaviour, ..State::default() }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(&stream, &state));
            }
        });
        Self { port, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn behave(&self, behaviour: Behaviour) {
        self.state().behaviour = behaviour;
    }

    /// The bytes at a path.
    pub fn object(&self, path: &str) -> Option<Vec<u8>> {
        self.state().objects.get(path).map(|(bytes, _)| bytes.clone())
    }

    /// The requests so far: method, address, and authorization.
    pub fn log(&self) -> Vec<String> {
        self.state().log.clone()
    }
}

fn serve(stream: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    while one(&mut reader, stream, state).is_some() {}
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

/// Answers one request; `None` ends the connection.
fn one(reader: &mut impl BufRead, mut out: &TcpStream, state: &Mutex<State>) -> Option<()> {
    let line = |reader: &mut dyn BufRead| {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        Some(line.trim_end().to_owned())
    };
    let first = line(reader)?;
    let (method, target) = first.strip_suffix(" HTTP/1.1")?.split_once(' ')?;
    let mut headers = BTreeMap::new();
    while let Some((name, value)) = line(reader)?.split_once(':') {
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let header = |name: &str| headers.get(name).map(String::as_str);
    let mut state_of = state.lock().unwrap();
    state_of.log.push(format!("{method} {target} {}", header("authorization").unwrap_or("")));
    let length: usize = header("content-length").map_or(0, |length| length.parse().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query: BTreeMap<&str, &str> =
        query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
    let part: Option<u16> = query.get("partNumber").map(|number| number.parse().unwrap());
    let breaks = match (&mut state_of.behaviour, part) {
        (Behaviour { break_part: Some((at, times)), .. }, Some(part)) if *at == part => Some(times),
        (Behaviour { break_put, .. }, None) if method == "PUT" => Some(break_put),
        _ => None,
    };
    let breaks = breaks.filter(|times| **times > 0).map(|times| *times -= 1).is_some();
    let early = match &mut state_of.behaviour {
        Behaviour { refuse: Some(status), .. } => Some(*status),
        Behaviour { busy, .. } if *busy > 0 => {
            *busy -= 1;
            Some(503)
        }
        _ => None,
    };
    drop(state_of);
    let mut body = Vec::new();
    if early.is_none() && header("expect").is_some() {
        out.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    if early.is_none() || header("expect").is_none() {
        let most = if breaks { length / 2 } else { length };
        reader.take(most as u64).read_to_end(&mut body).ok()?;
        if body.len() < most {
            return None;
        }
    }
    if breaks {
        return None;
    }
    let (status, told, text) = match early {
        Some(status) => (status, Vec::new(), b"<Error><Code>Told</Code></Error>".to_vec()),
        None => answer(&mut state.lock().unwrap(), method, path, &query, &header, body),
    };
    let makes = matches!((method, query.contains_key("uploadId")), ("PUT", false) | ("POST", true));
    let lost = &mut state.lock().unwrap().behaviour.lost;
    if makes && status == 200 && *lost > 0 {
        *lost -= 1;
        return None;
    }
    let mut head = format!("HTTP/1.1 {status} X\r\n");
    for (name, value) in told {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", text.len());
    out.write_all(head.as_bytes()).ok()?;
    if method != "HEAD" {
        out.write_all(&text).ok()?;
    }
    // What was not read would be taken for the next request.
    (early.is_none() || header("expect").is_none()).then_some(())
}

type Answer = (u16, Vec<(&'static str, String)>, Vec<u8>);

const NS: &str = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

fn told(text: String) -> Answer {
    (200, Vec::new(), text.into_bytes())
}

fn error(status: u16, code: &str) -> Answer {
    (status, Vec::new(), format!("<Error><Code>{code}</Code></Error>").into_bytes())
}

fn answer<'a>(
    state: &mut State,
    method: &str,
    path: &str,
    query: &BTreeMap<&str, &str>,
    header: &dyn Fn(&str) -> Option<&'a str>,
    body: Vec<u8>,
) -> Answer {
    let late = state.log.len();
    if let Some((_, key, bytes)) = state.behaviour.late.take_if(|(after, _, _)| late > *after) {
        let mark = mark(&bytes);
        state.objects.insert(key, (bytes, mark));
    }
    if state.behaviour.no_bucket && (method != "HEAD") {
        return error(404, "NoSuchBucket");
    }
    if state.behaviour.no_condition && header("if-none-match").is_some() {
        return error(501, "NotImplemented");
    }
    if header("content-md5").is_some_and(|sum| sum != STANDARD.encode(Md5::digest(&body))) {
        return error(400, "BadDigest");
    }
    let there = state.objects.contains_key(path) && header("if-none-match") == Some("*");
    match (query.get("uploadId"), method) {
        (Some(id), "PUT") => put_part(state, id, query["partNumber"], body),
        (Some(id), "GET") => list_parts(state, id),
        (Some(_), "POST") | (None, "PUT") if there => error(412, "PreconditionFailed"),
        (Some(id), "POST") => complete(state, id, path, &String::from_utf8(body).unwrap()),
        (Some(id), _) => match state.uploads.remove(*id) {
            Some(_) => (204, Vec::new(), Vec::new()),
            None => error(404, "NoSuchUpload"),
        },
        (None, "GET") if query.contains_key("uploads") => list_uploads(state),
        (None, "HEAD" | "GET") => match state.objects.get(path) {
            Some((bytes, mark)) => {
                let mark = if state.behaviour.own_marks { "x" } else { mark };
                (200, vec![("etag", format!("\"{mark}\""))], bytes.clone())
            }
            None => error(404, "NoSuchKey"),
        },
        (None, "PUT") => {
            let mark = mark(&body);
            state.objects.insert(path.to_owned(), (body, mark));
            told(String::new())
        }
        (None, "POST") => begin(state, path),
        _ => error(405, "MethodNotAllowed"),
    }
}

fn begin(state: &mut State, path: &str) -> Answer {
    state.begun += 1;
    let id = format!("u{}", state.begun);
    state.uploads.insert(id.clone(), (path.to_owned(), BTreeMap::new()));
    told(format!(
        "<InitiateMultipartUploadResult {NS}><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
    ))
}

fn list_uploads(state: &State) -> Answer {
    let each = |(id, (key, _)): (&String, &(String, _))| {
        let key = key.trim_start_matches("/bucket/");
        format!("<Upload><Key>{key}</Key><UploadId>{id}</UploadId></Upload>")
    };
    let all: String = state.uploads.iter().map(each).collect();
    told(format!(
        "<ListMultipartUploadsResult {NS}><IsTruncated>false</IsTruncated>{all}</ListMultipartUploadsResult>"
    ))
}

fn put_part(state: &mut State, id: &str, number: &str, body: Vec<u8>) -> Answer {
    let Some((_, parts)) = state.uploads.get_mut(id) else {
        return error(404, "NoSuchUpload");
    };
    let etag = format!("\"{}\"", mark(&body));
    parts.insert(number.parse().unwrap(), body);
    (200, vec![("etag", etag)], Vec::new())
}

fn list_parts(state: &State, id: &str) -> Answer {
    let Some((_, parts)) = state.uploads.get(id) else {
        return error(404, "NoSuchUpload");
    };
    let each = |(number, bytes): (&u16, &Vec<u8>)| {
        format!(
            "<Part><PartNumber>{number}</PartNumber><LastModified>x</LastModified><ETag>&quot;{}&quot;</ETag><Size>{}</Size></Part>",
            mark(bytes),
            bytes.len()
        )
    };
    let all: String = parts.iter().map(each).collect();
    told(format!(
        "<ListPartsResult {NS}><MaxParts>1000</MaxParts><IsTruncated>false</IsTruncated>{all}</ListPartsResult>"
    ))
}

fn complete(state: &mut State, id: &str, path: &str, text: &str) -> Answer {
    let Some((_, parts)) = state.uploads.get(id) else {
        return error(404, "NoSuchUpload");
    };
    let named = parts.values().filter(|part| text.contains(&mark(part))).count();
    if named != parts.len() || text.matches("<PartNumber>").count() != named {
        return error(400, "InvalidPart");
    }
    let sums: Vec<_> = parts.values().flat_map(Md5::digest).collect();
    let mark = format!("{}-{}", mark(&sums), parts.len());
    let whole = parts.values().flatten().copied().collect();
    state.uploads.remove(id);
    state.objects.insert(path.to_owned(), (whole, mark.clone()));
    told(format!(
        "<CompleteMultipartUploadResult {NS}><ETag>\"{mark}\"</ETag></CompleteMultipartUploadResult>"
    ))
}

fn mark(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
