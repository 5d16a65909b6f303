//! Traits of stages, in results from before they were recorded, too.

use results::model::{StageData, StageRecord, StageTraits};

/// A record of a stage of this kind as earlier versions wrote it.
fn old(kind: &str) -> StageRecord {
    let stage = fixture::result().cells.remove(0).record.unwrap().stages.remove(0);
    let mut json = serde_json::to_value(stage).unwrap();
    json.as_object_mut().unwrap().remove("traits");
    json["kind"] = kind.into();
    serde_json::from_value(json).unwrap()
}

#[test]
fn stages_of_earlier_versions_have_the_traits_of_their_kind() {
    let quiet = ["allocate", "drop_caches", "wait", "set", "trim", "read", "remount", "layer"];
    for kind in quiet {
        let data = old(kind).traits().data;
        assert!(matches!(data, StageData::Nothing | StageData::Allocation), "{kind}: {data:?}");
    }
    let timed = ["layer", "remount", "trim"];
    let bring = ["load", "layout", "fill", "state", "copy", "command", "unheard-of"];
    for kind in quiet.iter().chain(&bring) {
        assert_eq!(old(kind).traits().timed, timed.contains(kind), "{kind}");
        assert_eq!(old(kind).traits().down, *kind == "layer", "{kind}");
    }
    let data = bring.map(|kind| old(kind).traits().data);
    use StageData::{Foreign, Load, Rounds, State, Unknown};
    assert_eq!(data, [Load, Load, Rounds, State, Foreign, Unknown, Unknown]);
}

#[test]
fn traits_that_were_recorded_say_more_than_the_name() {
    let recorded = StageTraits { timed: true, ..StageTraits::of(StageData::Foreign) };
    let stage = StageRecord { traits: Some(recorded), ..old("wait") };
    let json = serde_json::to_string(&stage).unwrap();
    assert_eq!(serde_json::from_str::<StageRecord>(&json).unwrap().traits(), recorded);
}
