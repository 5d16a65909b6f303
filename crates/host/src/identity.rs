//! Description of a device in one line that tells it from its neighbours.

use std::path::Path;

use sys::block::{Number, sysfs};
use units::Bytes;

/// Path, node, vendor and model, serial number, size, kind.
pub(crate) fn of(path: &Path, node: &Path, number: Number, bytes: Bytes) -> String {
    let mut parts = vec![path.display().to_string()];
    if node != path {
        parts[0] = format!("{} ({})", path.display(), node.display());
    }
    let root = sysfs(number);
    let read = |name: &str| {
        let text = std::fs::read_to_string(root.join(name)).ok()?;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // A bare number (virtio's 0x1af4) does not name a vendor.
        (!text.is_empty() && !text.starts_with("0x")).then_some(text)
    };
    let either = |a: &str, b: &str| read(a).or_else(|| read(b));
    // The facts of a partition are those of its disk.
    let maker: Vec<_> = ["vendor", "model"]
        .iter()
        .filter_map(|what| either(&format!("device/{what}"), &format!("../device/{what}")))
        .collect();
    if !maker.is_empty() {
        parts.push(maker.join(" "));
    }
    let serial = ["device/serial", "serial", "device/wwid", "wwid"]
        .iter()
        .find_map(|name| either(name, &format!("../{name}")));
    parts.extend(serial.map(|serial| format!("serial {serial}")));
    parts.extend(read("loop/backing_file").map(|file| format!("a loop device on {file}")));
    parts.extend(read("dm/name").map(|name| format!("device-mapper node {name}")));
    parts.extend(read("partition").map(|n| format!("partition {n}")));
    parts.push(format!("{bytes} ({} bytes)", bytes.0));
    if let Some(rotational) = either("queue/rotational", "../queue/rotational") {
        parts.push(if rotational == "1" { "rotating" } else { "not rotating" }.to_owned());
    }
    parts.join(", ")
}
