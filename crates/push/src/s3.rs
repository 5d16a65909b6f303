//! S3, and stores that speak its language: one request for a small package, parts that are put together at the end for a large one.

mod plan;

use std::io::Read;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use instant_xml::FromXml;
use md5::{Digest, Md5};
use rusty_s3::actions::{CompleteMultipartUploadResponse, CreateMultipartUpload, ListParts};
use rusty_s3::{Bucket, Credentials, S3Action};

use self::plan::Plan;
use crate::client::{Answer, Ask, Body, Client};
use crate::destination::Store;
use crate::error::{Kind, PushError};
use crate::package::Package;
use crate::{Event, Outcome};

/// Validity of a signed address: long enough for all tries of a request.
const VALID: Duration = Duration::from_secs(3600);

/// An object of a store.
struct Object<'a> {
    client: Client,
    bucket: &'a Bucket,
    credentials: &'a Credentials,
    key: String,
    /// Its place in words.
    place: String,
    package: &'a Package,
    plan: Plan,
}

/// Uploads that were begun and not completed.
#[derive(Debug, FromXml)]
#[xml(rename = "ListMultipartUploadsResult", ns("http://s3.amazonaws.com/doc/2006-03-01/"))]
struct Uploads {
    uploads: Vec<Upload>,
}

#[derive(Debug, FromXml)]
#[xml(rename = "Upload", ns("http://s3.amazonaws.com/doc/2006-03-01/"))]
struct Upload {
    #[xml(rename = "Key")]
    key: String,
    #[xml(rename = "UploadId")]
    id: String,
}

/// Stores a package in a bucket.
pub(crate) fn store(
    store: &Store,
    package: &Package,
    replace: bool,
    on: &mut dyn FnMut(Event),
) -> Result<Outcome, PushError> {
    let key = store.key(&package.name);
    if key.split('/').any(|part| part == "." || part == "..") {
        let what = format!("{key} cannot be the name of an object: a part of it is . or ..");
        return Err(PushError::new(Kind::Usage, what, "name another prefix"));
    }
    let plan = Plan::of(package, package.open()?);
    let plan = plan.map_err(|error| PushError::file(&package.path, &error))?;
    if plan.sha256 != package.sha256 {
        return Err(PushError::changed(&package.path));
    }
    let object = Object {
        client: Client::new(store.bucket.base_url().scheme(), store.certificates.as_deref())?,
        bucket: &store.bucket,
        credentials: &store.credentials,
        place: format!("s3://{}/{key}", store.bucket.name()),
        key,
        package,
        plan,
    };
    let there = match object.found(on) {
        Ok(Some(true)) => return Ok(Outcome::AlreadyThere),
        Ok(Some(false)) if !replace => return Err(PushError::other_bytes(&object.place)),
        Ok(there) => there.is_some(),
        // Who may write only may replace without looking.
        Err(_) if replace => false,
        Err(error) => return Err(error),
    };
    match object.plan.is_one() {
        true => object.send_one(replace, on)?,
        false => object.send_parts(replace, on)?,
    }
    Ok(if there { Outcome::Replaced } else { Outcome::Stored })
}

/// The number of an unfinished upload, and the ETag of each part that is there.
type Unfinished = (String, Vec<Option<String>>);

impl Object<'_> {
    /// Sends a signed request.
    fn ask<'a>(
        &self,
        action: &impl S3Action<'a>,
        headers: Vec<(&'static str, String)>,
        body: Body,
        on: &mut dyn FnMut(Event),
    ) -> Result<Answer, PushError> {
        let url = action.sign(VALID);
        self.client.ask(&self.request(action, url.as_str(), headers, body), on)
    }

    fn request<'a, 'r, A: S3Action<'a>>(
        &'r self,
        _: &A,
        url: &'r str,
        headers: Vec<(&'static str, String)>,
        body: Body<'r>,
    ) -> Ask<'r> {
        Ask { method: A::METHOD.to_str(), url, place: &self.place, headers, body }
    }

    /// Looks for the object: `None` where it is not there, else whether it has the bytes of the package.
    fn found(&self, on: &mut dyn FnMut(Event)) -> Result<Option<bool>, PushError> {
        let head = self.bucket.head_object(Some(self.credentials), &self.key);
        let answer = self.ask(&head, Vec::new(), Body::None, on)?;
        match answer.status {
            404 => return Ok(None),
            200 => {}
            _ => return Err(self.refused(&answer)),
        }
        if answer.length().is_some_and(|length| length != self.package.bytes) {
            return Ok(Some(false));
        }
        if answer.header("etag").is_some_and(|etag| self.plan.is(etag)) {
            return Ok(Some(true));
        }
        // Its mark is none of ours: sent in other parts, or encrypted there.
        let get = self.bucket.get_object(Some(self.credentials), &self.key);
        let url = get.sign(VALID);
        let ask = self.request(&get, url.as_str(), Vec::new(), Body::None);
        Ok(Some(self.client.same(&ask, self.package, on)? == Some(true)))
    }

    /// Sends the whole in one request; the store checks the bytes by their MD5.
    fn send_one(&self, replace: bool, on: &mut dyn FnMut(Event)) -> Result<(), PushError> {
        let (bytes, sum) = self.part(0)?;
        self.finish(replace, on, |condition, on| {
            let put = self.bucket.put_object(Some(self.credentials), &self.key);
            let headers = condition.into_iter().chain([("content-md5", sum.clone())]).collect();
            let answer = self.ask(&put, headers, Body::Bytes(&bytes, Some(0)), on)?;
            Ok(answer)
        })
    }

    /// Sends parts, those left out that the store has from an earlier try, and has them put together.
    fn send_parts(&self, replace: bool, on: &mut dyn FnMut(Event)) -> Result<(), PushError> {
        let (upload, mut etags) = match self.begun(on)? {
            Some(begun) => begun,
            None => (self.begin(on)?, vec![None; self.plan.sums.len()]),
        };
        let kept = etags.iter().flatten().count();
        if kept > 0 {
            let all = etags.len();
            on(Event::Note(&format!(
                "{}: {kept} of {all} parts are there from an earlier try",
                self.place
            )));
        }
        for (at, etag) in etags.iter_mut().enumerate() {
            let before = at as u64 * self.plan.part;
            if etag.is_some() {
                on(Event::At((before + self.plan.part).min(self.package.bytes)));
                continue;
            }
            let (bytes, sum) = self.part(at)?;
            let number = u16::try_from(at + 1).unwrap_or(u16::MAX);
            let put = self.bucket.upload_part(Some(self.credentials), &self.key, number, &upload);
            let headers = vec![("content-md5", sum)];
            let answer = self.ask(&put, headers, Body::Bytes(&bytes, Some(before)), on)?;
            match (answer.status, answer.header("etag")) {
                (200, Some(told)) => *etag = Some(told.to_owned()),
                // Another push of the same bytes may have completed this very upload.
                (404, _) if self.found(on)? == Some(true) => return Ok(()),
                _ => return Err(self.refused(&answer)),
            }
        }
        let etags: Vec<&str> = etags.iter().flatten().map(String::as_str).collect();
        let done = self.finish(replace, on, |condition, on| {
            let all = etags.iter().copied();
            let complete = self.bucket.complete_multipart_upload(
                Some(self.credentials),
                &self.key,
                &upload,
                all,
            );
            let body = complete.clone().body();
            let mut answer = self.ask(
                &complete,
                condition.into_iter().collect(),
                Body::Bytes(body.as_bytes(), None),
                on,
            )?;
            // The store may begin to answer before it knows how it ends.
            if answer.status == 200 && CompleteMultipartUploadResponse::parse(&answer.text).is_err()
            {
                answer.status = 500;
            }
            Ok(answer)
        });
        if done.as_ref().is_err_and(|error| error.kind == Kind::Refused) {
            let abort =
                self.bucket.abort_multipart_upload(Some(self.credentials), &self.key, &upload);
            let _ = self.ask(&abort, Vec::new(), Body::None, on);
        }
        done
    }

    /// Makes the request after which the object is there; without `replace` on the condition that none is there yet.
    fn finish(
        &self,
        replace: bool,
        on: &mut dyn FnMut(Event),
        send: impl Fn(
            Option<(&'static str, String)>,
            &mut dyn FnMut(Event),
        ) -> Result<Answer, PushError>,
    ) -> Result<(), PushError> {
        let condition = (!replace).then(|| ("if-none-match", "*".to_owned()));
        let mut answer = send(condition.clone(), on)?;
        // A store that does not know the condition: it was looked for at the beginning.
        if answer.status == 501 && condition.is_some() {
            answer = send(None, on)?;
        }
        match answer.status {
            200 => Ok(()),
            // It is there: from somebody else, or from a try of ours whose answer was lost.
            404 | 412 if self.found(on)? == Some(true) => Ok(()),
            412 => Err(PushError::other_bytes(&self.place)),
            _ => Err(self.refused(&answer)),
        }
    }

    /// Begins an upload; returns its id.
    fn begin(&self, on: &mut dyn FnMut(Event)) -> Result<String, PushError> {
        let create = self.bucket.create_multipart_upload(Some(self.credentials), &self.key);
        let answer = self.ask(&create, Vec::new(), Body::Bytes(&[], None), on)?;
        match CreateMultipartUpload::parse_response(&answer.text) {
            Ok(created) if answer.status == 200 => Ok(created.upload_id().to_owned()),
            _ => Err(self.refused(&answer)),
        }
    }

    /// Finds an upload of these very bytes that was not completed: its id, and the marks of the parts that are there. A store that does not list
    /// uploads has none.
    fn begun(&self, on: &mut dyn FnMut(Event)) -> Result<Option<Unfinished>, PushError> {
        // An empty key is the bucket itself.
        let mut list = self.bucket.get_object(Some(self.credentials), "");
        list.query_mut().insert("prefix", self.key.as_str());
        list.query_mut().insert("uploads", "");
        let answer = self.ask(&list, Vec::new(), Body::None, on)?;
        let uploads = match answer.status {
            200 => instant_xml::from_str::<Uploads>(&answer.text).map(|all| all.uploads),
            _ => Ok(Vec::new()),
        };
        for upload in uploads.unwrap_or_default().iter().filter(|upload| upload.key == self.key) {
            let mut etags = vec![None; self.plan.sums.len()];
            let (mut after, mut ours) = (None, true);
            while ours {
                let mut list =
                    ListParts::new(self.bucket, Some(self.credentials), &self.key, &upload.id);
                if let Some(after) = after {
                    list.set_part_number_marker(after);
                }
                let answer = self.ask(&list, Vec::new(), Body::None, on)?;
                let Ok(listed) = ListParts::parse_response(&answer.text) else { break };
                for part in listed.parts {
                    // An upload with a part of other bytes is somebody else's.
                    ours &= self.plan.is_part(part.number, &part.etag);
                    if let Some(etag) = etags.get_mut(usize::from(part.number).wrapping_sub(1)) {
                        *etag = Some(part.etag);
                    }
                }
                after = listed.next_part_number_marker;
                if after.is_none() {
                    break;
                }
            }
            if ours && etags.iter().any(Option::is_some) {
                return Ok(Some((upload.id.clone(), etags)));
            }
        }
        Ok(None)
    }

    /// Reads a part, from 0, with its MD5 in base 64; an error where it is no longer as it was planned.
    fn part(&self, at: usize) -> Result<(Vec<u8>, String), PushError> {
        use std::io::{Seek, SeekFrom};
        let failed = |error| PushError::file(&self.package.path, &error);
        let mut file = self.package.open()?;
        file.seek(SeekFrom::Start(at as u64 * self.plan.part)).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(self.plan.part).read_to_end(&mut bytes).map_err(failed)?;
        let sum: [u8; 16] = Md5::digest(&bytes).into();
        match self.plan.sums.get(at) == Some(&sum) {
            true => Ok((bytes, STANDARD.encode(sum))),
            false => Err(PushError::changed(&self.package.path)),
        }
    }

    /// Creates the error for an answer that is a refusal.
    fn refused(&self, answer: &Answer) -> PushError {
        let bucket = self.bucket.name();
        let what = format!("{}: {}", self.place, answer.reason());
        let help = match answer.status {
            301 | 307 | 400 => match answer.header("x-amz-bucket-region") {
                Some(region) => {
                    format!("the bucket is in region {region}: set AWS_REGION={region}")
                }
                None => {
                    "look at AWS_REGION, AWS_ENDPOINT_URL and the name of the bucket".to_owned()
                }
            },
            401 | 403 => format!(
                "look whether the keys are right, whether they may read and write objects of {bucket}, and whether the clock of this machine is"
            ),
            404 => format!("make the bucket {bucket} first, or look at AWS_ENDPOINT_URL"),
            507 => "make room in the store".to_owned(),
            _ => {
                "the same command tries again; what was sent in parts is not sent again".to_owned()
            }
        };
        PushError::new(Kind::Environment, what, help)
    }
}
