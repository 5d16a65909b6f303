//! The server against a stand-in for QEMU, which sends what the test says.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use super::*;

/// Messages of vhost-user, by their numbers.
const GET_FEATURES: u32 = 1;
const SET_FEATURES: u32 = 2;
const SET_OWNER: u32 = 3;
const SET_VRING_NUM: u32 = 8;

fn send(qemu: &mut UnixStream, request: u32, payload: &[u8]) {
    let mut message =
        [request, 1, u32::try_from(payload.len()).unwrap()].map(u32::to_le_bytes).concat();
    message.extend_from_slice(payload);
    // A server that ended takes no more.
    let _ = qemu.write_all(&message);
}

/// Starts a device as firmware and kernel do, one after the other, with rings of these sizes; gives how the service ended.
fn started_with(rings: &[u32]) -> Result<ServingStats> {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    std::fs::write(&trace, []).unwrap();
    let service = Service {
        role: "data".into(),
        size: Bytes(1 << 20),
        like: "nvme".parse().unwrap(),
        faults: Vec::new(),
        attributes: Attributes::default(),
        seed: Seed(1),
        most: Bytes(1 << 22),
        trace,
        contents: None,
        most_requests: 100,
    };
    let socket = dir.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let server = std::thread::spawn(move || serve(listener, &service));
    let mut qemu = UnixStream::connect(&socket).unwrap();
    send(&mut qemu, SET_OWNER, &[]);
    send(&mut qemu, GET_FEATURES, &[]);
    let mut reply = [0; 20];
    qemu.read_exact(&mut reply).unwrap();
    for ring in rings {
        send(&mut qemu, SET_FEATURES, &reply[12..]);
        send(&mut qemu, SET_VRING_NUM, &[0, *ring].map(u32::to_le_bytes).concat());
    }
    drop(qemu);
    server.join().unwrap()
}

#[test]
fn every_ring_that_virtio_allows_is_served_also_at_a_second_start() {
    for size in (0..=15).map(|shift| 1 << shift) {
        assert!(started_with(&[256, size]).is_ok(), "256, then {size}");
    }
}

#[test]
fn what_cannot_be_served_is_an_error_that_says_so() {
    for size in [0, 1 << 16, u32::MAX] {
        let error = started_with(&[256, size]).unwrap_err().to_string();
        assert!(error.contains("QEMU"), "{size}: {error}");
    }
}
