//! What data is made of where its cost is asked.

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
    let said = explained.variants[0].stages.join("\n");
    assert!(said.contains("natural") && said.contains("CPU time is asked"), "{said}");
    // Another question, or a texture in the file.
    let (quick, explained) = texture(&text.replace("machine_cpu_per_io_us", "latency_p50_ns"));
    assert_eq!(quick, Texture::Tail);
    assert!(!explained.variants[0].stages.join("\n").contains("CPU time"));
    let given = text.replace("compress = \"2.5x\"", "compress = \"2.5x\", texture = \"tail\"");
    assert_eq!(texture(&given).0, Texture::Tail);
}
