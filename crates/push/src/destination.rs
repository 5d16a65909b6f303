//! The place that a result is sent to, as people write it, with what the environment adds.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use rusty_s3::{Bucket, Credentials, UrlStyle};
use url::Url;

use crate::error::{Kind, PushError};

/// The variable whose value goes to a server of HTTP PUT as the header `Authorization`.
pub const AUTHORIZATION: &str = "FATHOM_PUSH_AUTHORIZATION";

/// The forms of a destination.
const FORMS: &str = "write a directory, file:///DIR, s3://BUCKET/PREFIX, or http(s)://SERVER/PATH/";

/// A place for results.
#[derive(Debug, Clone)]
pub enum Destination {
    /// A directory of this machine, or one that is mounted on it.
    Directory(PathBuf),
    /// A bucket of S3, or of a store that speaks its language.
    S3(Store),
    /// A server that takes HTTP PUT.
    Http(Server),
}

/// A bucket, and how it is reached.
#[derive(Clone)]
pub struct Store {
    pub(crate) bucket: Bucket,
    pub(crate) credentials: Credentials,
    /// Without slashes at its ends; may be empty.
    pub(crate) prefix: String,
    pub(crate) certificates: Option<PathBuf>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket.name(), self.prefix)
    }
}

/// A server that takes HTTP PUT.
#[derive(Clone)]
pub struct Server {
    /// The address of the folder; ends with a slash.
    pub(crate) url: Url,
    pub(crate) authorization: Option<String>,
    pub(crate) certificates: Option<PathBuf>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.url)
    }
}

impl Destination {
    /// Reads a destination; `env` looks up variables of the environment.
    ///
    /// # Errors
    /// When the text is none of the known forms, or what the environment must add is missing.
    pub fn read(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, PushError> {
        let env = |name: &str| env(name).filter(|value| !value.is_empty());
        let Some((scheme, _)) = text.split_once("://") else {
            return Ok(Self::Directory(text.into()));
        };
        let wrong = |why: &str| PushError::new(Kind::Usage, format!("{text}: {why}"), FORMS);
        let url = Url::parse(text);
        // What cannot be read is not repeated either where it may hold a password.
        let names = url.as_ref().map_or(text.contains('@'), |url| {
            !url.username().is_empty() || url.password().is_some()
        });
        if names {
            let what =
                format!("{scheme}: a name and a password in an address would be kept in results");
            let help = format!(
                "{AUTHORIZATION} is sent as the header Authorization; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are for s3"
            );
            return Err(PushError::new(Kind::Usage, what, help));
        }
        let url = url.map_err(|error| wrong(&error.to_string()))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("a destination has no ? and no #"));
        }
        match scheme {
            "file" => {
                let path = url.to_file_path();
                path.map(Self::Directory).map_err(|()| wrong("that is no directory here"))
            }
            "s3" => store(&url, &env, &wrong).map(Self::S3),
            "http" | "https" => {
                let mut url = url;
                if !url.path().ends_with('/') {
                    url.set_path(&format!("{}/", url.path()));
                }
                let certificates = env("SSL_CERT_FILE").map(PathBuf::from);
                let authorization = env(AUTHORIZATION);
                Ok(Self::Http(Server { url, authorization, certificates }))
            }
            _ => Err(wrong("no such kind of destination is known")),
        }
    }

    /// Returns the directory, if it is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) => Some(path),
            _ => None,
        }
    }

    /// Checks what can be checked before there is something to send.
    ///
    /// # Errors
    /// When a directory is not there or takes no files.
    pub fn check(&self) -> Result<(), PushError> {
        let Self::Directory(path) = self else { return Ok(()) };
        if !path.is_dir() {
            let what = format!("{} is not a directory", path.display());
            return Err(PushError::new(
                Kind::Usage,
                what,
                "make it first; a destination is a place for many results",
            ));
        }
        results::draft::try_in(path).map_err(|error| PushError::file(path, &error))
    }

    /// Returns the place that a result of this name gets, in words.
    pub fn place(&self, name: &str) -> String {
        match self {
            Self::Directory(path) => path.join(name).display().to_string(),
            Self::S3(store) => format!("s3://{}/{}", store.bucket.name(), store.key(name)),
            Self::Http(server) => server.of(name).to_string(),
        }
    }
}

impl Store {
    /// Returns the key of an object.
    pub(crate) fn key(&self, name: &str) -> String {
        match self.prefix.is_empty() {
            true => name.to_owned(),
            false => format!("{}/{name}", self.prefix),
        }
    }
}

impl Server {
    /// Returns the address of an object.
    pub(crate) fn of(&self, name: &str) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push(name);
        }
        url
    }
}

fn store(
    url: &Url,
    env: &dyn Fn(&str) -> Option<String>,
    wrong: &dyn Fn(&str) -> PushError,
) -> Result<Store, PushError> {
    let name = url.host_str().filter(|_| url.port().is_none());
    let name = name.ok_or_else(|| wrong("it names no bucket"))?.to_owned();
    // Keys are shown, signed and listed as they are: an escaped prefix would be another one.
    if url.path().contains('%') {
        return Err(wrong("a prefix is plain: letters, digits, and - . _ / ~ + = @ !"));
    }
    let prefix = url.path().trim_matches('/').to_owned();
    let first = |names: &[&str]| names.iter().find_map(|name| env(name));
    let region = first(&["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or("us-east-1".to_owned());
    let own = first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
    // A server of one's own has one name; so has a bucket with a dot, which no certificate covers.
    let style = match own.is_some() || name.contains('.') {
        true => UrlStyle::Path,
        false => UrlStyle::VirtualHost,
    };
    let endpoint = own.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
    let unusable = |why: &str| {
        let what = format!("The endpoint {endpoint} cannot be used: {why}");
        PushError::new(Kind::Usage, what, "write AWS_ENDPOINT_URL=https://SERVER")
    };
    let base = Url::parse(&endpoint).map_err(|error| unusable(&error.to_string()))?;
    let bucket = Bucket::new(base, style, name, region);
    let bucket = bucket.map_err(|error| unusable(&error.to_string()))?;
    let certificates = first(&["AWS_CA_BUNDLE", "SSL_CERT_FILE"]).map(PathBuf::from);
    Ok(Store { bucket, credentials: credentials(env)?, prefix, certificates })
}

/// Reads the keys to a store from the environment, else from the file that other tools of S3 read.
fn credentials(env: &dyn Fn(&str) -> Option<String>) -> Result<Credentials, PushError> {
    let made = |key: String, secret: String, token: Option<String>| match token {
        Some(token) => Credentials::new_with_token(key, secret, token),
        None => Credentials::new(key, secret),
    };
    if let (Some(key), Some(secret)) = (env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY")) {
        return Ok(made(key, secret, env("AWS_SESSION_TOKEN")));
    }
    let file = env("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
    let file = file.or_else(|| Some(Path::new(&env("HOME")?).join(".aws/credentials")));
    let profile = env("AWS_PROFILE").unwrap_or("default".to_owned());
    let text = file.as_deref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let of = |key: &str| in_profile(&text, &profile, key);
    match (of("aws_access_key_id"), of("aws_secret_access_key")) {
        (Some(key), Some(secret)) => Ok(made(key, secret, of("aws_session_token"))),
        _ => {
            let place = file.map_or("~/.aws/credentials".to_owned(), |f| f.display().to_string());
            let what = format!(
                "There are no keys to the store: neither in the environment, nor under [{profile}] in {place}"
            );
            let help = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";
            Err(PushError::new(Kind::Environment, what, help))
        }
    }
}

/// Returns the value of a key below the heading of a profile.
fn in_profile(text: &str, profile: &str, key: &str) -> Option<String> {
    let mut within = false;
    let value = |line: &str| {
        let line = line.trim();
        if let Some(heading) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            within = heading.trim() == profile;
        }
        let (name, value) = line.split_once('=').filter(|_| within)?;
        (name.trim() == key).then(|| value.trim().to_owned())
    };
    text.lines().find_map(value).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, env: &[(&str, &str)]) -> Result<Destination, PushError> {
        Destination::read(text, &|name| {
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")];

    #[test]
    fn each_form_leads_to_its_place() {
        let own = [&KEYS[..], &[("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")]].concat();
        for (text, env, place) in [
            ("results", &[][..], "results/r.fathom"),
            ("file:///srv/a%20b", &[], "/srv/a b/r.fathom"),
            ("s3://bucket/a/b/", &KEYS, "s3://bucket/a/b/r.fathom"),
            ("s3://bucket", &own, "s3://bucket/r.fathom"),
            ("https://server/dir", &[], "https://server/dir/r.fathom"),
            ("http://server", &[], "http://server/r.fathom"),
        ] {
            assert_eq!(read(text, env).unwrap().place("r.fathom"), place);
        }
        let address = |text: &str, env: &[(&str, &str)]| match read(text, env).unwrap() {
            Destination::S3(store) => store.bucket.object_url(&store.key("r")).to_string(),
            other => panic!("{other:?}"),
        };
        let region = [&KEYS[..], &[("AWS_REGION", "eu-west-1")]].concat();
        assert_eq!(
            address("s3://bucket/a", &region),
            "https://bucket.s3.eu-west-1.amazonaws.com/a/r"
        );
        assert_eq!(address("s3://b.c/a", &KEYS), "https://s3.us-east-1.amazonaws.com/b.c/a/r");
        assert_eq!(address("s3://bucket/a", &own), "http://127.0.0.1:9000/bucket/a/r");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_and_no_password_is_repeated() {
        for text in [
            "ftp://server/",
            "s3:///prefix",
            "https://server/?x=1",
            "http://",
            "s3://b/a b",
            "file://server/x",
        ] {
            assert_eq!(read(text, &KEYS).unwrap_err().kind, Kind::Usage, "{text}");
        }
        for text in ["https://me:secret@server/", "https://me:secret@no server/"] {
            let error = read(text, &[]).unwrap_err();
            assert!(!format!("{error:?}").contains("secret@"), "{error:?}");
            assert!(error.help.unwrap().contains(AUTHORIZATION));
        }
        let error = read("s3://bucket/", &[("HOME", "/no-such")]).unwrap_err();
        assert_eq!(error.kind, Kind::Environment);
        assert!(error.what.contains("/no-such/.aws/credentials"), "{error}");
    }

    #[test]
    fn keys_come_from_the_profile_in_the_file_of_other_tools() {
        let text = "[default]\naws_access_key_id = a\n[mine]\n# x\naws_access_key_id=b\naws_secret_access_key = c=d\n";
        let of = |profile: &str, key: &str| in_profile(text, profile, key);
        assert_eq!(of("default", "aws_access_key_id").unwrap(), "a");
        assert_eq!(of("mine", "aws_access_key_id").unwrap(), "b");
        assert_eq!(of("mine", "aws_secret_access_key").unwrap(), "c=d");
        assert_eq!(of("default", "aws_secret_access_key"), None);
    }
}
