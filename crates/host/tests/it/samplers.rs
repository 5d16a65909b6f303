//! Samples and what they cost.

use std::io;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use host::{Executor, RealMachine, Samplers, SourceReader, TickedSamplers};
use layers::probe::{Probe, Reading, Source};
use results::model::SampleRow;
use rustix::time::{ClockId, clock_gettime};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::Nanos;

use crate::stacks::{executor, raised};

const BURN: Duration = Duration::from_millis(5);

/// A source whose reading takes 5 ms of CPU.
struct Burner;

impl SourceReader for Burner {
    fn read(&mut self, _: &Source) -> io::Result<String> {
        // The fine clock: what getrusage says grows by whole ticks of some milliseconds.
        let used = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        let start = used();
        while used() - start < BURN {
            std::hint::spin_loop();
        }
        Ok("cpu  1 0 0 0 0 0 0 0".into())
    }
}

fn probe(every_ms: u64) -> Probe {
    Probe {
        id: "machine.cpu".into(),
        source: Source::File { path: "/proc/stat".into() },
        parser: "machine.cpu".into(),
        every_ms,
        reading: Reading::Edge,
    }
}

fn on_this_machine(clock: &Clock) -> Executor {
    Executor::new(RealMachine::new(), clock, &Interrupt::new())
}

#[test]
fn a_sampler_that_burns_5_ms_shows_5_ms() {
    let clock = Clock::real();
    let (send, rows) = mpsc::channel::<SampleRow>();
    let on = move |row| send.send(row).unwrap();
    let reader = Box::new(Burner);
    let executor = on_this_machine(&clock);
    let samplers = Samplers::with_reader(reader, &[probe(30)], &executor, &clock, on).unwrap();
    let first: Vec<_> =
        (0..10).map(|_| rows.recv_timeout(Duration::from_secs(30)).unwrap()).collect();
    let meter = samplers.cpu_meter();
    samplers.stop();
    let mut costs: Vec<u64> = first.iter().map(|row| row.cost_cpu_ns).collect();
    costs.sort_unstable();
    let median = costs[5];
    assert!(costs[0] >= 5_000_000 && median < 8_000_000, "{costs:?}");
    // The same inaccuracy the other way round: CPU time may seem a little longer than wall time.
    let slack = 1_000_000;
    assert!(first.iter().all(|row| row.cost_ns + slack >= row.cost_cpu_ns), "{first:?}");
    let (user, system) = meter();
    assert!(user + system >= BURN * 8, "{user:?} {system:?}");
}

#[test]
fn samples_come_at_their_cadence_and_end_with_the_samplers() {
    let clock = Clock::real();
    let (send, rows) = mpsc::channel::<SampleRow>();
    let on = move |row| drop(send.send(row));
    let start = clock.now().0;
    let samplers = Samplers::start(&[probe(20)], &on_this_machine(&clock), &clock, on).unwrap();
    let times: Vec<_> =
        (0..5).map(|_| rows.recv_timeout(Duration::from_secs(30)).unwrap().at_ns).collect();
    assert!(times.windows(2).all(|pair| pair[1] > pair[0]), "{times:?}");
    // A busy machine makes samples late, never early.
    assert!(times[4] - start >= 80_000_000, "{start}: {times:?}");
    let marked = samplers.mark("allocated");
    assert_eq!(marked[0].mark.as_deref(), Some("allocated"));
    assert!(marked[0].error.is_none() && marked[0].fields["idle_s"].is_some(), "{marked:?}");
    let stop = Instant::now();
    samplers.stop();
    assert!(stop.elapsed() < Duration::from_secs(5));
    while rows.try_recv().is_ok() {}
    assert!(rows.recv().is_err(), "the thread has gone");
}

#[test]
fn a_source_that_is_not_there_is_a_sample_with_a_reason_and_no_figures() {
    let clock = Clock::real();
    let gone = Probe { source: Source::File { path: "/fathom/none".into() }, ..probe(1000) };
    let executor = on_this_machine(&clock);
    let samplers = Samplers::start(&[gone], &executor, &clock, |_| {}).unwrap();
    let row = samplers.mark("settled").remove(0);
    assert!(row.error.is_some() && row.fields.is_empty(), "{row:?}");
}

#[test]
fn a_probe_whose_name_is_not_bound_does_not_start() {
    let clock = Clock::real();
    let threads = Source::Threads { prefix: "vdo{vdo.instance}:".into() };
    let probe = Probe { source: threads, ..probe(1000) };
    let error = Samplers::start(&[probe], &on_this_machine(&clock), &clock, |_| {}).err().unwrap();
    assert!(error.to_string().contains("{vdo.instance}"), "{error}");
}

#[test]
fn virtual_time_gives_a_sample_per_cadence_and_skips_what_was_missed() {
    let (raised, steps, twin) = raised("vdo", "");
    let (mut executor, _, clock) = executor(twin, None);
    for step in &steps {
        executor.step(step).1.unwrap();
    }
    let mut samplers = TickedSamplers::new(&raised.probes, &executor, &clock).unwrap();
    let count = raised.probes.len();
    assert_eq!(samplers.tick(&mut executor).len(), count);
    assert_eq!(samplers.tick(&mut executor).len(), 0);
    clock.advance(Nanos::from_secs(1));
    assert_eq!(samplers.tick(&mut executor).len(), count);
    clock.advance(Nanos::from_secs(10));
    assert_eq!(samplers.tick(&mut executor).len(), count, "ten were missed, one is taken");
    let marked = samplers.mark(&mut executor, "settled");
    assert!(marked.iter().all(|row| row.error.is_none()), "{marked:?}");
}

/// A slow probe whose command is this script.
fn slow(id: &str, script: &str, every_ms: u64) -> Probe {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let source = Source::Command { argv };
    Probe { id: id.into(), source, reading: Reading::Background, ..probe(every_ms) }
}

const CPU_LINE: &str = "echo cpu 1 0 0 0 0 0 0 0";

#[test]
fn a_slow_probe_delays_neither_an_edge_nor_another_probe() {
    let clock = Clock::real();
    let (send, rows) = mpsc::channel::<SampleRow>();
    let on = move |row| drop(send.send(row));
    let probes = [slow("slow", &format!("sleep 1.5; {CPU_LINE}"), 100_000), probe(20)];
    let samplers = Samplers::start(&probes, &on_this_machine(&clock), &clock, on).unwrap();
    let (began, marked_ns) = (Instant::now(), clock.now().0);
    let marked = samplers.mark("stage_start");
    assert!(began.elapsed() < Duration::from_millis(700), "{:?}", began.elapsed());
    assert_eq!(marked.len(), 1, "of the slow one nothing is there yet: {marked:?}");
    let mut quick = 0;
    let read = loop {
        let row = rows.recv_timeout(Duration::from_secs(30)).unwrap();
        match row.source.as_str() {
            "slow" if row.mark.is_some() => break row,
            "slow" => {}
            _ => quick += 1,
        }
    };
    assert!(quick > 20, "{quick} readings of the quick probe meanwhile");
    // The first one, which nobody asked for, was under way for longer than an edge can wait.
    assert!(read.error.as_deref().unwrap_or("still under way").contains("still under way"));
    assert!(read.at_ns >= marked_ns, "{read:?}");
    assert_eq!(samplers.stop(), []);
}

#[test]
fn a_reading_that_was_asked_for_is_of_its_edge_and_says_what_it_took() {
    let clock = Clock::real();
    let (send, rows) = mpsc::channel::<SampleRow>();
    let on = move |row| drop(send.send(row));
    let probes = [slow("slow", &format!("sleep 0.3; {CPU_LINE}"), 100_000)];
    let samplers = Samplers::start(&probes, &on_this_machine(&clock), &clock, on).unwrap();
    rows.recv_timeout(Duration::from_secs(30)).unwrap();
    let before = clock.now().0;
    samplers.mark("settled");
    let after = clock.now().0;
    assert_eq!(samplers.stop(), [], "the end waits for what was asked for");
    let row = rows.try_recv().unwrap();
    assert_eq!((row.mark.as_deref(), row.error.as_deref()), (Some("settled"), None));
    assert!((before..=after).contains(&row.at_ns), "{row:?}");
    assert!(row.cost_ns >= 300_000_000 && row.fields["user_s"].is_some(), "{row:?}");
}

#[test]
fn a_slow_probe_that_hangs_is_killed_and_said_to_be_missing() {
    let clock = Clock::real();
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = format!("echo $$ >{}; sleep 600", file.path().display());
    let executor = on_this_machine(&clock);
    let probes = [slow("hangs", &script, 100_000)];
    let (send, rows) = mpsc::channel::<SampleRow>();
    let on = move |row| drop(send.send(row));
    let samplers = Samplers::start(&probes, &executor, &clock, on).unwrap();
    while !std::fs::read_to_string(file.path()).unwrap().ends_with('\n') {
        std::thread::sleep(Duration::from_millis(5));
    }
    samplers.mark("stage_end");
    let stop = Instant::now();
    let late = samplers.mark("settled");
    assert_eq!(late[0].mark.as_deref(), Some("stage_end"), "{late:?}");
    let missing = samplers.stop();
    assert!(stop.elapsed() < Duration::from_secs(20), "{:?}", stop.elapsed());
    assert_eq!(missing[0].mark.as_deref(), Some("settled"), "{missing:?}");
    assert!(missing[0].error.as_deref().unwrap().contains("still being read"), "{missing:?}");
    let id = std::fs::read_to_string(file.path()).unwrap();
    let there = std::path::Path::new("/proc").join(id.trim()).exists();
    assert!(!there, "what it started lives on");
    assert!(rows.try_recv().is_err(), "nothing of it is handed over");
}

#[test]
fn a_slow_probe_that_nobody_asked_holds_up_no_end() {
    let clock = Clock::real();
    let probes = [slow("hangs", "sleep 600", 100_000)];
    let samplers = Samplers::start(&probes, &on_this_machine(&clock), &clock, |_| {}).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let stop = Instant::now();
    assert_eq!(samplers.stop(), []);
    assert!(stop.elapsed() < Duration::from_secs(4), "{:?}", stop.elapsed());
}
