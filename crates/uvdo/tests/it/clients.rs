//! Clients that nobody here wrote.

use std::path::Path;
use std::process::Command;

use volume::Policy;

use crate::served::{LOGICAL, Served, backing, sound};

/// Runs a client; nothing when the machine has none, which counts as skipped.
fn client(test: &str, program: &str, args: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(args).output() {
        Ok(output) => output,
        Err(_) => {
            println!("SKIP {test}: there is no {program}");
            return None;
        }
    };
    let (out, err) = (output.stdout, output.stderr);
    let text = [String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)].concat();
    assert!(output.status.success(), "{program} {args:?}\n{text}");
    Some(text)
}

/// A file of blocks: some are zeros, some duplicates, and some compress.
fn data(path: &Path, seed: u64) -> Vec<u8> {
    let mut random = units::Seed(seed).generator();
    let mut bytes = vec![0; 8 << 20];
    for block in bytes.chunks_exact_mut(4096) {
        let (kind, value) = (random.below(4), random.below(500));
        let mut content = units::Seed(value).generator();
        let length = [0, 1000, 4096, 4096][kind as usize];
        let fresh = kind == 3;
        for word in block[..length].chunks_exact_mut(8) {
            let of = if fresh { &mut random } else { &mut content };
            word.copy_from_slice(&of.next_u64().to_le_bytes());
        }
    }
    std::fs::write(path, &bytes).unwrap();
    bytes
}

#[test]
fn nbdinfo_sees_size_flags_and_block_sizes() {
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    let served = Served::start(&path, dir.path(), Policy::Async);
    let test = "nbdinfo_sees_size_flags_and_block_sizes";
    if let Some(text) = client(test, "nbdinfo", &["--json", &served.uri()]) {
        // Remarks on standard error may follow the document.
        let mut documents = serde_json::Deserializer::from_str(&text).into_iter();
        let found: serde_json::Value = documents.next().unwrap().unwrap();
        let export = &found["exports"][0];
        assert_eq!(
            (&found["protocol"], &export["export-size"]),
            (&"newstyle-fixed".into(), &LOGICAL.into())
        );
        for flag in ["can_flush", "can_fua", "can_trim", "can_zero", "can_multi_conn"] {
            assert_eq!(export[flag], true, "{flag}: {export}");
        }
        assert_eq!(
            (&export["is_read_only"], &export["block_size_preferred"]),
            (&false.into(), &4096.into())
        );
        client(test, "nbdinfo", &["--list", &served.uri()]);
    }
    served.stop(&path);
}

#[test]
fn nbdcopy_and_qemu_img_read_back_what_they_wrote() {
    let test = "nbdcopy_and_qemu_img_read_back_what_they_wrote";
    for policy in [Policy::Sync, Policy::Async, Policy::AsyncUnsafe] {
        let dir = tempfile::tempdir().unwrap();
        let path = backing(dir.path());
        let served = Served::start(&path, dir.path(), policy);
        let (uri, file, back) = (served.uri(), dir.path().join("data"), dir.path().join("back"));
        let bytes = data(&file, 7);
        let (file, back) = (file.to_str().unwrap(), back.to_str().unwrap());
        if client(test, "nbdcopy", &["--flush", "--connections=2", file, &uri]).is_some() {
            let stats = served.stats();
            let stored = stats["dataBlocksUsed"].as_u64().unwrap();
            assert!(stored < 2048 * 55 / 100, "{policy:?}: {stats}");
            client(test, "nbdcopy", &[&uri, back]);
            let read = std::fs::read(back).unwrap();
            assert!(read.len() as u64 == LOGICAL && read[..bytes.len()] == bytes, "{policy:?}");
            assert!(read[bytes.len()..].iter().all(|byte| *byte == 0));
        }
        let other = data(Path::new(file), 8);
        let convert = ["convert", "-n", "-f", "raw", "-O", "raw", file, &uri];
        if client(test, "qemu-img", &convert).is_some() {
            client(test, "qemu-img", &["compare", "-f", "raw", "-F", "raw", file, &uri]);
            assert_eq!(std::fs::read(file).unwrap(), other);
        }
        served.stop(&path);
    }
}

#[test]
fn clients_find_a_socket_by_its_uri_whatever_its_directory_is_called() {
    let test = "clients_find_a_socket_by_its_uri_whatever_its_directory_is_called";
    // QEMU decodes the address twice from version 9 on: a name with & or % cannot be passed to it in any way.
    for (name, qemu) in [("a b?c#d%20e&f=g+é", false), ("a b?c#d=g+é", true)] {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join(name);
        std::fs::create_dir(&odd).unwrap();
        let path = backing(&odd);
        let served = Served::start(&path, &odd, Policy::Async);
        let size = client(test, "nbdinfo", &["--size", &served.uri()]);
        assert!(size.is_none_or(|size| size.trim() == LOGICAL.to_string()), "{name}");
        client(test, "nbdcopy", &[&served.uri(), "null:"]);
        if qemu {
            client(test, "qemu-img", &["info", "-f", "raw", &served.uri()]);
            client(test, "qemu-io", &["-f", "raw", "-c", "read 0 4k", &served.uri()]);
        }
        served.stop(&path);
    }
}

#[test]
fn qemu_io_writes_parts_of_blocks_discards_and_zeros_and_reads_them_back() {
    let test = "qemu_io_writes_parts_of_blocks_discards_and_zeros_and_reads_them_back";
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    let served = Served::start(&path, dir.path(), Policy::Async);
    let uri = served.uri();
    let commands = [
        "write -P 0xa1 0 64k",
        "write -P 0xb2 1000 9000",
        "write -f -P 0xc3 512 512",
        "read -P 0xa1 0 512",
        "read -P 0xc3 512 488",
        "read -P 0xb2 1024 8976",
        "read -P 0xa1 10000 55536",
        "write -z 20000 3000",
        "read -P 0 20000 3000",
        "read -P 0xa1 23000 1000",
        "discard 32k 16k",
        "read -P 0 32k 16k",
        "read -P 0xa1 48k 16k",
        "flush",
        "write -P 0x55 200m 3m",
        "read -P 0x55 200m 3m",
    ];
    let mut args = vec!["-f", "raw", "-t", "none"];
    commands.iter().for_each(|command| args.extend(["-c", command]));
    args.push(&uri);
    if let Some(text) = client(test, "qemu-io", &args) {
        assert!(!text.contains("failed") && !text.contains("error"), "{text}");
        let stats = served.stats();
        assert!(stats["biosInPartial"]["write"].as_u64() > Some(2), "{stats}");
        assert!(stats["biosIn"]["discard"].as_u64() >= Some(4), "{stats}");
    }
    served.stop(&path);
}

#[test]
fn fio_verifies_what_it_wrote_at_depth_while_fsyncs_come_and_after_a_cut() {
    let test = "fio_verifies_what_it_wrote_at_depth_while_fsyncs_come_and_after_a_cut";
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    for policy in [Policy::Async, Policy::Sync] {
        let served = Served::start(&path, dir.path(), policy);
        let uri = format!("--uri={}", served.uri());
        let job = [
            "--name=verified",
            "--ioengine=nbd",
            &uri,
            "--rw=randwrite",
            "--bsrange=4k-64k",
            "--bs_unaligned=0",
            "--iodepth=32",
            "--size=24m",
            "--verify=crc32c",
            "--verify_fatal=1",
            "--verify_state_save=0",
            "--fsync=64",
            "--end_fsync=1",
            "--buffer_compress_percentage=50",
        ];
        let engines = client(test, "fio", &["--enghelp"]).unwrap_or_default();
        if !engines.contains("nbd") {
            println!("SKIP {test}: this fio has no engine nbd");
            return served.stop(&path);
        }
        client(test, "fio", &job);
        // All was flushed: it is there after a cut, too.
        served.cut();
        sound(&path);
        let served = Served::start(&path, dir.path(), policy);
        client(test, "fio", &[&job[..], &["--verify_only=1"]].concat());
        served.stop(&path);
    }
}
