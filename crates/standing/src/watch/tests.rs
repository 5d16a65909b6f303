use super::*;

fn numbers(pairs: &[(&str, f64)]) -> Numbers {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), Some(*value))).collect()
}

/// A look at one volume of VDO with a thread.
fn look(at_s: f64, reads: f64, writes_in: f64, cpu_s: f64) -> Look {
    let device = DeviceLook {
        at_s,
        io: numbers(&[("reads", reads), ("read_ms", 2.0 * reads), ("in_flight", 3.0)]),
        own_numbers: numbers(&[("biosIn.write", writes_in), ("dataBlocksUsed", 7.0 + at_s)]),
    };
    let thread = ThreadLook { name: "vdo0:journalQ0".to_owned(), cpu_s };
    Look {
        at_s,
        devices: [("dm-0".to_owned(), Ok(device))].into(),
        threads: [("9".to_owned(), thread)].into(),
    }
}

fn stack() -> (Recorded, StandingStack) {
    let block = crate::Block { name: "dm-0".into(), number: "253:0".into(), ..Default::default() };
    let read = Recorded { blocks: vec![block], ..Recorded::default() };
    let node = Node {
        id: "dm-0".into(),
        name: "vg-vpool".into(),
        kind: "vdo".into(),
        target: "vdo".into(),
        counters: numbers(&[("instance", 0.0)]),
        ..Node::default()
    };
    (read, StandingStack { nodes: vec![node], ..StandingStack::default() })
}

fn watched(looks: Vec<Look>) -> Watched {
    let (read, mut stack) = stack();
    let mut seen = Seen { owners: owners(&read, &stack), ..Seen::default() };
    looks.into_iter().for_each(|look| seen.take(look));
    seen.give(&mut stack);
    stack.nodes.remove(0).watched.unwrap()
}

#[test]
fn counters_grow_levels_stay_and_the_time_of_a_thread_is_of_its_node() {
    let looks = vec![
        look(1e-6, 100.0, 1000.0, 5.0),
        look(1.0, 100.0, 1500.0, 5.95),
        look(2.0, 160.0, 3000.0, 6.0),
    ];
    let seen = watched(looks);
    assert_eq!((seen.seconds.round(), seen.rows.len()), (2.0, 2));
    assert_eq!(seen.grown["biosIn.write"], Some(2000.0));
    assert_eq!(seen.levels["dataBlocksUsed"], Some(9.0));
    assert!((seen.io.rate("reads").unwrap() - 30.0).abs() < 0.01);
    assert!(seen.rows[0].is_idle() && seen.rows[0].latency_ns("reads", "read_ms").is_none());
    assert!(!seen.io.grown.contains_key("in_flight"));
    let [thread] = &seen.threads[..] else { panic!("{seen:?}") };
    assert!((thread.cpu_percent - 50.0).abs() < 0.01, "{thread:?}");
    assert!((thread.full_percent - 50.0).abs() < 0.01, "{thread:?}");
    assert!((thread.most_percent - 95.0).abs() < 0.01, "{thread:?}");
}

#[test]
fn what_began_anew_is_no_figure_and_a_device_that_is_gone_keeps_what_was_seen() {
    let mut gone = look(2.0, 0.0, 0.0, 5.0);
    gone.devices.insert("dm-0".to_owned(), Err("it is gone".to_owned()));
    let looks = vec![look(0.0, 100.0, 1000.0, 5.0), look(1.0, 150.0, 10.0, 5.0), gone];
    let seen = watched(looks);
    assert_eq!((seen.seconds, seen.io.number("reads")), (1.0, Some(50.0)));
    assert_eq!(seen.grown["biosIn.write"], None);
    assert_eq!(seen.gone, Some((2.0, "it is gone".to_owned())));
    assert!(seen.threads.is_empty());
}
