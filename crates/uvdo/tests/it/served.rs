//! A volume that is served by a thread of the test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use sys::interrupt::{Interrupt, Level};
use units::Bytes;
use uvdo::{Backing, CreateOptions, Ended, Place, Server, StartOptions};
use volume::{Policy, Settings};

/// Size of the backing and of the volume.
pub const BACKING: u64 = 512 << 20;
pub const LOGICAL: u64 = 256 << 20;

/// A file with an empty volume.
pub fn backing(dir: &Path) -> PathBuf {
    backing_of(dir, LOGICAL)
}

/// A file with an empty volume of so many bytes.
pub fn backing_of(dir: &Path, logical: u64) -> PathBuf {
    let path = dir.join("volume.img");
    std::fs::File::create(&path).unwrap().set_len(BACKING).unwrap();
    let mut backing = Backing::open(&path, true).unwrap();
    let options = CreateOptions { logical_size: Some(Bytes(logical)), ..Default::default() };
    let geometry = uvdo::layout(&backing, &options).unwrap();
    uvdo::create(&mut backing, geometry).unwrap();
    path
}

pub fn options(policy: Policy) -> StartOptions {
    let settings = Settings { cache_pages: 256, index_records: 1 << 16, ..Settings::default() };
    StartOptions { settings, policy: Some(policy), max_discard: Bytes(4096), memory: None }
}

pub struct Served {
    pub place: Place,
    interrupt: Interrupt,
    server: JoinHandle<Ended>,
}

impl Served {
    pub fn start(backing: &Path, dir: &Path, policy: Policy) -> Self {
        let place = Place::new(&dir.join("run"));
        let open = Backing::open(backing, true).unwrap();
        let server = Server::start(open, &place, &options(policy)).unwrap();
        let interrupt = Interrupt::new();
        let wish = interrupt.clone();
        let server = std::thread::spawn(move || server.run(&wish, ()).unwrap());
        Self { place, interrupt, server }
    }

    pub fn uri(&self) -> String {
        self.place.uri()
    }

    pub fn stats(&self) -> serde_json::Value {
        serde_json::from_str(&uvdo::ask(&self.place, "stats json").unwrap()).unwrap()
    }

    /// Stops it as a power cut would.
    pub fn cut(self) -> Ended {
        self.interrupt.request(Level::Now);
        self.server.join().unwrap()
    }

    /// Its end, which somebody asked for.
    pub fn ended(self) -> Ended {
        self.server.join().unwrap()
    }

    /// Stops it, and checks it.
    pub fn stop(self, backing: &Path) {
        assert_eq!(uvdo::ask(&self.place, "stop").unwrap(), "clean");
        assert_eq!(self.server.join().unwrap(), Ended::Clean);
        sound(backing);
    }
}

/// Checks a volume that does not run.
pub fn sound(backing: &Path) -> volume::Report {
    let report = uvdo::check(Backing::open(backing, false).unwrap()).unwrap();
    assert_eq!(report.problems, []);
    report
}

#[test]
fn who_asked_it_to_stop_hears_of_the_end_when_the_volume_is_free() {
    struct Slow(Arc<AtomicBool>);
    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(200));
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    let place = Place::new(&dir.path().join("run"));
    let open = Backing::open(&path, true).unwrap();
    let server = Server::start(open, &place, &options(Policy::Sync)).unwrap();
    let free = Arc::new(AtomicBool::new(false));
    let claim = Slow(Arc::clone(&free));
    let server = std::thread::spawn(move || server.run(&Interrupt::new(), claim).unwrap());
    assert_eq!(uvdo::ask(&place, "stop").unwrap(), "clean");
    assert!(free.load(Ordering::SeqCst), "it is still claimed");
    assert!(!place.control().exists(), "its sockets are still there");
    assert_eq!(server.join().unwrap(), Ended::Clean);
}
