//! Tests of the texture of data whose cost is asked.

use content::Texture;

use super::plan;
use crate::{explain, shipped};

#[test]
fn data_is_natural_where_cpu_time_is_asked_and_the_file_says_nothing_else() {
    let texture = |text: &str| {
        let plan = plan(text).unwrap();
        let mut textures = plan.cells[0].stages.iter().filter_map(|stage| stage.load());
        let texture = textures.rfind(|load| load.content.compresses());
        (texture.unwrap().content.texture(), explain(&plan))
    };
    let text = shipped("vdo-vs-plain").unwrap().text;
    let (natural, explained) = texture(text);
    assert_eq!(natural, Texture::Natural);
    let stages = explained.variants[0].stages.join("\n");
    assert!(stages.contains("natural") && stages.contains("CPU time that is asked"), "{stages}");
    // Another question, or a texture in the file.
    let (quick, explained) = texture(&text.replace("machine_cpu_per_io_us", "latency_p50_ns"));
    assert_eq!(quick, Texture::Tail);
    assert!(!explained.variants[0].stages.join("\n").contains("CPU time"));
    let given = text.replace("compress = \"2.5x\"", "compress = \"2.5x\", texture = \"tail\"");
    assert_eq!(texture(&given).0, Texture::Tail);
}

#[test]
fn a_fill_before_such_a_load_is_natural_too() {
    let text = shipped("vdo-vs-plain").unwrap().text;
    let fill = "[[stage]]\ndo = \"fill\"\nname = \"before\"\nonly = [\"vdo\"]\nto = \"50%\"\nof = \"logical\"\n\
                by = { ops = { write = 100 }, block_size = \"4k\", content = { compress = \"2x\" } }\n\n[[question]]";
    let plan = plan(&text.replacen("[[question]]", fill, 1))
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    let mut stages = plan.cells.iter().flat_map(|cell| &cell.stages);
    let fill = stages.find(|stage| stage.name == "before");
    assert_eq!(fill.unwrap().driven().unwrap().content.texture(), Texture::Natural);
}
