//! Cells that something else on the machine disturbed.

use results::disturbances;
use results::model::MachineLoad;

#[test]
fn what_others_take_is_told_of_host_and_guest_and_little_is_not() {
    let mut set = fixture::result();
    let load = |others: f64, steal: f64| MachineLoad {
        others_percent: Some(others),
        steal_percent: Some(steal),
        ..MachineLoad::default()
    };
    set.cells[0].entry.host = Some(load(44.0, 0.0));
    set.cells[0].record.as_mut().unwrap().machine = Some(load(1.0, 12.0));
    set.cells[1].entry.host = Some(load(2.0, 1.0));
    set.cells[2].record.as_mut().unwrap().machine = Some(load(3.0, 2.5));
    let of = |cell: usize| disturbances(&set.cells[cell]).unwrap();
    let expected = [
        "others took 44 % of the CPUs on the host",
        "its own host took 12 % of the CPUs (steal) in the guest",
    ];
    assert_eq!(of(0), expected);
    assert!(of(1).is_empty());
    assert_eq!(of(2), ["others took 3 % of the CPUs"]);
}

#[test]
fn waiting_for_memory_disturbs_and_a_frequency_that_was_read_at_two_instants_does_not() {
    let mut set = fixture::result();
    for (place, cell) in set.cells.iter_mut().enumerate() {
        let mhz = if place == 4 { 1_800.0 } else { 2_400.0 };
        let load = MachineLoad {
            others_percent: Some(0.1),
            frequency_mhz: Some(mhz),
            memory_pressure_percent: Some(if place == 5 { 9.0 } else { 0.2 }),
            ..MachineLoad::default()
        };
        cell.record.as_mut().unwrap().machine = Some(load);
    }
    let of = |cell: usize| disturbances(&set.cells[cell]).unwrap();
    assert!(of(4).is_empty());
    assert_eq!(of(5), ["threads waited for memory 9 % of the time"]);
    assert!(of(6).is_empty());
}

#[test]
fn a_cell_that_nobody_watched_is_not_called_undisturbed() {
    let mut set = fixture::result();
    assert_eq!(disturbances(&set.cells[0]), None);
    // Where the kernel told something else, but not what others took.
    let load = MachineLoad { frequency_mhz: Some(2_400.0), ..MachineLoad::default() };
    set.cells[0].record.as_mut().unwrap().machine = Some(load);
    assert_eq!(disturbances(&set.cells[0]), None);
    let load = MachineLoad { memory_pressure_percent: Some(9.0), ..load };
    set.cells[0].record.as_mut().unwrap().machine = Some(load);
    assert_eq!(disturbances(&set.cells[0]).unwrap().len(), 1);
    let load = MachineLoad { others_percent: Some(0.0), ..MachineLoad::default() };
    set.cells[0].record.as_mut().unwrap().machine = Some(load);
    assert_eq!(disturbances(&set.cells[0]), Some(Vec::new()));
}
