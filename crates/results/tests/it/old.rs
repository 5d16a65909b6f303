//! Results of earlier versions are read for ever: each folder below `tests/old` is one, as that version's
//! program wrote it.

use std::fs;
use std::path::Path;

use results::read::open;
use results::recover::recover;

#[test]
fn results_of_earlier_versions_are_read_whole() {
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old");
    let Ok(folders) = fs::read_dir(&old) else {
        println!("SKIP results_of_earlier_versions_are_read_whole: no version is released yet");
        return;
    };
    for folder in folders {
        let result = open(&folder.unwrap().path()).unwrap();
        let path = result.path.display();
        assert!(result.complete(), "{path}: {:?}", result.incomplete);
        assert!(result.cells.len() > 1 && !result.transcript.is_empty(), "{path}");
        for cell in &result.cells {
            let record = cell.record.as_ref().unwrap();
            let by_rows = recover(&cell.rows);
            for stage in record.stages.iter().filter(|stage| stage.measured) {
                let load = stage.load.as_ref().unwrap();
                let rows = by_rows.iter().find(|recovered| recovered.index == stage.index).unwrap();
                for (name, operation) in &load.operations {
                    assert!(operation.ios > 0, "{path}: {name}");
                    assert_eq!(rows.operations[name].ios, operation.ios, "{path}: {name}");
                }
            }
        }
    }
}
