//! Chromium without a window. Shared with the tests of the program, so it knows nothing of this crate.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names that Chromium goes by.
pub const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The browser, where there is one.
pub fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places: Vec<_> = std::env::split_paths(&path).collect();
    let files = NAMES.iter().flat_map(|name| places.iter().map(move |place| place.join(name)));
    files.into_iter().find(|file| file.is_file())
}

/// The document after its scripts have run, and what the browser logged.
pub fn opened(browser: &Path, page: &str, fragment: &str) -> (String, String) {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    let log = std::fs::File::create(home.path().join("log")).unwrap();
    let dom = std::fs::File::create(home.path().join("dom")).unwrap();
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=60000"])
        .args(["--window-size=1280,1000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
        .arg(format!("file://{}{fragment}", file.display()))
        .stdin(Stdio::null())
        .stdout(dom)
        .stderr(log)
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{} did not end", browser.display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let read = |name: &str| {
        String::from_utf8_lossy(&std::fs::read(home.path().join(name)).unwrap()).into_owned()
    };
    (read("dom"), read("log"))
}

/// An attribute of the document's root.
pub fn attribute(dom: &str, name: &str) -> String {
    let root = dom.split_once("<html").unwrap().1.split_once('>').unwrap().0;
    let rest =
        root.split_once(&format!("{name}=\"")).unwrap_or_else(|| panic!("{name} in {root}")).1;
    rest.split_once('"').unwrap().0.to_owned()
}

/// Opens `page` with all of its `charts` drawn: every one must be, and the console must stay silent.
pub fn check_page(test: &str, page: &str, charts: usize) {
    let Some(browser) = browser() else {
        println!("SKIP {test}: none of {} is in PATH", NAMES.join(", "));
        return;
    };
    let (dom, log) = opened(&browser, page, "#all");
    assert!(charts > 0);
    assert_eq!(attribute(&dom, "data-errors"), "", "{log}");
    assert_eq!(attribute(&dom, "data-charts"), charts.to_string());
    let console: Vec<_> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{console:#?}");
    assert!(dom.matches("<div class=\"room\"").count() >= charts, "plots with lines");
}
