//! A guest with a VDO volume in it, from the lab's interface alone: what the crate's tests and its users build on.
//!
//! `hello [vdo|echo|interrupt|hang|crash|die|off|fail|shell] [word or key=value ...]`; keys: `deadline` (seconds),
//! `times`, `memory` (MiB); words: `tcg`, `kvm`, `plain-command-line`. Says on standard output what came, and how the machine ended.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use lab::{
    Accelerator, AcceleratorChoice, Cache, CommandLine, Frame, FrameKind, GuestSession, Image,
    ImageNeeds, ImageSpec, Purpose, Received, Vm, VmSpec, guest,
};
use units::Bytes;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    if guest::is_guest() {
        return guest::main(in_guest);
    }
    match on_host() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(help) = error.help() {
                eprintln!("help: {help}");
            }
            ExitCode::from(3)
        }
    }
}

/// The arguments as given.
struct Arguments(Vec<String>);

impl Arguments {
    fn value(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|there| there == word)
    }

    fn number(&self, key: &str, usual: u64) -> u64 {
        self.value(key).and_then(|text| text.parse().ok()).unwrap_or(usual)
    }
}

fn on_host() -> lab::Result<bool> {
    let arguments = Arguments(
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
    );
    let mission = arguments.0.first().cloned().unwrap_or_else(|| "vdo".into());
    let cache = Cache::open()?;
    let needs = ImageNeeds::new(
        &["lvm2", "vdo", "util-linux"],
        &["dm-mod", "dm-vdo"],
        &["lvm", "dmsetup", "vdoformat", "blkid"],
    );
    let image = ImageSpec::new(needs);
    let wish = match (arguments.has("tcg"), arguments.has("kvm")) {
        (true, _) => AcceleratorChoice::Tcg,
        (_, true) => AcceleratorChoice::Kvm,
        _ => AcceleratorChoice::Best,
    };
    let prepare = |spec: &mut VmSpec| {
        spec.mission = mission.clone().into_bytes();
        spec.disks = vec![lab::Disk::plain("data", Bytes(8 * Bytes::GIB))];
        spec.deadline = Duration::from_secs(arguments.number("deadline", 120));
        spec.memory = Bytes(arguments.number("memory", 1024) * Bytes::MIB);
        if arguments.has("plain-command-line") {
            spec.command_line = CommandLine::Plain;
        }
        if mission == "shell" {
            spec.purpose = Purpose::Shell;
        }
    };
    let times = arguments.number("times", 0);
    if times > 0 {
        return measure(&cache, &image, wish, &prepare, times);
    }
    let mut say = |event| println!("{event:?}");
    let image = Image::ready(&cache, &image, &mut say)?;
    let accelerator = Accelerator::choose(&cache, &image, wish, &mut say)?;
    let mut spec = VmSpec::new(&cache, image, accelerator);
    prepare(&mut spec);
    let mut vm = Vm::start(&spec)?;
    if mission == "shell" {
        let end = lab::shell::attach(&mut vm, &mut |_| {})?;
        println!("{}", end.ending);
        return Ok(end.ending == lab::Ending::Done);
    }
    Ok(follow(&mut vm, &mission))
}

fn measure(
    cache: &Cache,
    image: &ImageSpec,
    wish: AcceleratorChoice,
    prepare: &dyn Fn(&mut VmSpec),
    times: u64,
) -> lab::Result<bool> {
    let mut all = Vec::new();
    for _ in 0..times {
        let start = lab::bench::start_once(cache, image, wish, prepare, &mut |_| {})?;
        println!("{start:?}");
        all.push(start.to_first_step);
    }
    all.sort();
    println!(
        "median {:?} of {times}, least {:?}, most {:?}",
        all[all.len() / 2],
        all[0],
        all[all.len() - 1]
    );
    Ok(true)
}

fn follow(vm: &mut Vm, mission: &str) -> bool {
    let began = Instant::now();
    let mut interrupted = false;
    loop {
        match vm.recv(Duration::from_millis(500)) {
            Received::Frame(Frame { kind, payload }) => {
                let text =
                    String::from_utf8_lossy(&payload[..payload.len().min(2000)]).into_owned();
                println!(
                    "{:6.2} s {kind:?} {} B: {}",
                    began.elapsed().as_secs_f64(),
                    payload.len(),
                    text.trim_end()
                );
                if kind == FrameKind::FirstStep && mission == "echo" {
                    vm.send(&vec![42; 20 << 20])
                        .unwrap_or_else(|error| println!("cannot send: {error}"));
                }
                if kind == FrameKind::FirstStep && mission == "interrupt" && !interrupted {
                    interrupted = true;
                    vm.interrupt().unwrap_or_else(|error| println!("cannot interrupt: {error}"));
                }
            }
            Received::Nothing => {}
            Received::Ended(end) => {
                println!("{:#?}", vm.facts());
                let log = vm.kernel_log().unwrap_or_default();
                println!("kernel log of {} lines", log.lines().count());
                println!("console: {}", end.console_tail.trim_end());
                println!("qemu said: {}", end.qemu_said.trim_end());
                println!("ended after {:.2} s: {}", end.ran_for.as_secs_f64(), end.ending);
                return end.ending == lab::Ending::Done;
            }
        }
    }
}

/// Runs the session in the guest.
fn in_guest(session: &mut GuestSession, mission: &[u8]) -> Result<(), Failure> {
    session.first_step()?;
    match String::from_utf8_lossy(mission).as_ref() {
        "vdo" => vdo(session)?,
        "echo" => {
            let large = session.recv(Duration::from_secs(60)).ok_or("nothing came")?;
            session.payload(&large)?;
        }
        "interrupt" => {
            while session.interrupts() == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
            session.payload(b"interrupted")?;
        }
        "shell" => drop(guest::shell(session)?),
        // The kernel itself goes down.
        "crash" => std::fs::write("/proc/sysrq-trigger", "c")?,
        "hang" => loop {
            std::thread::sleep(Duration::from_secs(1));
        },
        "die" => drop(
            Command::new("busybox")
                .args(["kill", "-9", &std::process::id().to_string()])
                .status()?,
        ),
        "off" => drop(Command::new("busybox").args(["poweroff", "-f"]).status()?),
        "fail" => return Err("as it was told to".into()),
        _ => {}
    }
    Ok(())
}

fn vdo(session: &GuestSession) -> Result<(), Failure> {
    let data = session.disk("data").display().to_string();
    let run = |words: &[&str]| -> Result<(), Failure> {
        let began = Instant::now();
        let output = Command::new(words[0]).args(&words[1..]).output()?;
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        let line = format!(
            "{} ({:.2} s, {}): {printed}",
            words.join(" "),
            began.elapsed().as_secs_f64(),
            output.status
        );
        session.payload(line.as_bytes())?;
        if output.status.success() { Ok(()) } else { Err(line.into()) }
    };
    run(&["vgcreate", "lab", &data])?;
    run(&["lvcreate", "--yes", "--type", "vdo", "-n", "vol", "-L", "6G", "-V", "4G", "lab/pool"])?;
    run(&["dmsetup", "message", "lab-pool-vpool", "0", "stats"])?;
    run(&["lvremove", "--yes", "lab/vol"])?;
    run(&["vgremove", "--yes", "lab"])?;
    run(&["dmsetup", "ls"])
}
