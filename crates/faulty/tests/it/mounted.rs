use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::{Duration, Instant};

use faulty::{Fault, Faulty, On, What, When};

const SIZE: usize = 1 << 20;

fn mount(test: &str, faults: Vec<Fault>) -> Option<(Faulty, File)> {
    match Faulty::mount(SIZE, faults) {
        Ok(faulty) => {
            let mut options = OpenOptions::new();
            options.read(true).write(true).custom_flags(0o40000);
            let file = options.open(faulty.path()).unwrap();
            Some((faulty, file))
        }
        Err(error) => {
            println!("SKIP {test}: {error}");
            None
        }
    }
}

/// A page that O_DIRECT takes.
#[repr(align(4096))]
struct Page([u8; 4096]);

#[test]
fn what_is_written_is_read_back_and_holes_are_zero() {
    let Some((faulty, file)) = mount("what_is_written_is_read_back", Vec::new()) else { return };
    assert_eq!(file.metadata().unwrap().len(), SIZE as u64);
    file.write_all_at(&Page([7; 4096]).0, 8192).unwrap();
    let mut page = Page([1; 4096]);
    file.read_exact_at(&mut page.0, 8192).unwrap();
    assert_eq!(page.0, [7; 4096]);
    let hole = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, hole, 8192, 4096).unwrap();
    file.sync_all().unwrap();
    file.read_exact_at(&mut page.0, 8192).unwrap();
    assert_eq!(page.0, [0; 4096]);
    assert!(faulty.injected().is_empty());
}

#[test]
fn errors_and_short_transfers_reach_the_caller() {
    let faults = vec![
        Fault::new(On::Read, When::within(4096..8192), What::Errno(5)),
        Fault::new(On::Write, When::default().at_most(1), What::Short(512)),
        Fault::new(On::Flush, When::default(), What::Errno(28)),
    ];
    let Some((faulty, file)) = mount("errors_and_short_transfers", faults) else { return };
    let mut page = Page([0; 4096]);
    assert_eq!(file.read_at(&mut page.0, 4096).unwrap_err().raw_os_error(), Some(5));
    assert_eq!(file.read_at(&mut page.0, 8192).unwrap(), 4096);
    assert_eq!(file.write_at(&page.0, 0).unwrap(), 512);
    assert_eq!(file.write_at(&page.0, 0).unwrap(), 4096);
    assert_eq!(file.sync_data().unwrap_err().raw_os_error(), Some(28));
    assert_eq!(faulty.injected().len(), 3);
}

#[test]
fn a_stalled_request_holds_no_other_and_ends_when_it_is_released() {
    let long = Duration::from_secs(3600);
    let faults = vec![Fault::new(On::Read, When::within(0..4096), What::Stall(long))];
    let Some((faulty, file)) = mount("a_stalled_request", faults) else { return };
    let stalled = std::thread::spawn({
        let file = file.try_clone().unwrap();
        move || file.read_at(&mut Page([0; 4096]).0, 0).map_err(|e| e.raw_os_error())
    });
    while faulty.injected().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    for _ in 0..100 {
        file.read_exact_at(&mut Page([0; 4096]).0, 4096).unwrap();
    }
    assert!(!stalled.is_finished());
    let start = Instant::now();
    drop(faulty);
    assert_eq!(stalled.join().unwrap(), Ok(4096));
    assert!(start.elapsed() < Duration::from_secs(60));
}
