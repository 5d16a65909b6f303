//! Tests of tables that know their places.

use units::{Bytes, Key};

use super::{Named, Table};

const SIZE: Key = Key { name: "size", takes: "a size", example: "\"1G\"" };
const DEPTH: Key = Key { name: "depth", takes: "a whole number", example: "32" };
const STAGE: Key = Key { name: "stage", takes: "stages", example: "[{ size = \"1G\" }]" };

const TEXT: &str = "depth = 1\n[[stage]]\n# size is not here\nother = \"size\"\nsize = true\n\
                    content.zero = 4\n[[stage]]\nsize = \"4k\"\n";

fn stages(text: &str) -> Vec<Table<'_>> {
    Table::parse(text, "A file").unwrap().tables(&STAGE, "A stage").unwrap()
}

#[test]
fn a_mistake_stands_where_the_key_is_written_and_not_where_its_name_occurs() {
    let [first, second] = &mut stages(TEXT)[..] else { panic!("two stages") };
    let mistake = first.take::<Bytes>(&SIZE).unwrap_err();
    assert_eq!(&TEXT[mistake.span.unwrap()], "size = true");
    assert_eq!(mistake.message, "size cannot be true");
    assert_eq!(mistake.help.unwrap(), "size takes a size, as in size = \"1G\"");
    let size = second.take::<Bytes>(&SIZE).unwrap().unwrap();
    assert_eq!((*size.get_ref(), &TEXT[size.span()]), (Bytes(4096), "size = \"4k\""));
    assert!(second.clone().finish().is_ok());
    let missing = second.need::<u32>(&DEPTH).unwrap_err();
    assert!(missing.message.contains("no key 'depth'"), "{missing:?}");
    assert_eq!(missing.span.unwrap().start, TEXT.rfind("[[stage]]").unwrap());
}

#[test]
fn what_is_left_is_refused_with_what_was_asked_for() {
    let mut table = Table::parse("dept = 4\nsize = 1\n", "A file").unwrap();
    table.take::<Bytes>(&SIZE).unwrap();
    assert!(table.take::<u32>(&DEPTH).unwrap().is_none());
    let mistake = table.finish().unwrap_err();
    assert_eq!((mistake.message.as_str(), mistake.span), ("A file has no key 'dept'", Some(0..8)));
    assert_eq!(mistake.help.unwrap(), "did you mean 'depth'? Allowed here: size, depth");
}

#[test]
fn places_are_known_inside_of_tables_however_they_are_written() {
    let [first, _] = &stages(TEXT)[..] else { panic!("two stages") };
    let places = first.places();
    assert_eq!(&TEXT[places.at("content.zero")], "zero = 4");
    assert_eq!(&TEXT[places.at("content.dedupe")], "content");
    assert_eq!(&TEXT[places.at("nowhere")], "[[stage]]");
    for text in ["a = { b = { c = 1 } }", "a.b.c = 1", "[a.b]\nc = 1"] {
        let places = Table::parse(text, "A file").unwrap().places();
        assert!(text[places.at("a.b.c")].ends_with("c = 1"), "{text}");
    }
}

#[test]
fn names_of_the_files_own_keep_their_places() {
    let text = "[devices.data]\nsize = 1\n[devices.\"o d\"]\nsize = 2\n";
    let key = Key { name: "devices", takes: "tables", example: "{ data = { size = \"1G\" } }" };
    let devices = Table::parse(text, "A file").unwrap().table(&key, "Devices").unwrap().unwrap();
    let devices = devices.named_tables(&key, "A device").unwrap();
    let seen: Vec<_> = devices.iter().map(|d| (d.name.as_str(), &text[d.at.clone()])).collect();
    assert_eq!(seen, [("data", "[devices.data]"), ("o d", "[devices.\"o d\"]")]);
    let text = "\"a.b\" = [1, 2]\nc = 99999999999999999999\n";
    let mistake = Table::parse(text, "A file").unwrap().values().unwrap_err();
    assert!(mistake.message.starts_with("c cannot be") || mistake.message.starts_with("c: "));
    let values = Table::parse("\"a.b\" = [1, 2]\n", "A file").unwrap().values().unwrap();
    let [Named { name, at, value }] = &values[..] else { panic!("one value") };
    assert_eq!((name.as_str(), at.clone(), value.type_str()), ("a.b", 0..14, "array"));
}

#[test]
fn a_table_that_is_none_is_refused_with_an_example() {
    for text in ["stage = 5", "stage = [5]", "stage = \"x\""] {
        let mut table = Table::parse(text, "A file").unwrap();
        let mistake = table.tables(&STAGE, "A stage").unwrap_err();
        assert!(mistake.message.starts_with("stage cannot be"), "{mistake:?}");
        assert!(mistake.help.unwrap().contains("[{ size"), "{text}");
    }
    let mistake = Table::parse("a = \n", "A file").unwrap_err();
    assert!(mistake.span.is_some());
}

#[test]
fn a_value_put_in_place_is_wrong_where_it_stands_itself() {
    const SET: Key = Key { name: "set", takes: "values", example: "{ \"a.b\" = 1 }" };
    let text = "depth = 1\ncontent = { zero = 1 }\n[set]\n\"x.depth\" = true\n\"x.content.zero\" = 2\n\"x.a.b\" = 3\n";
    let mut table = Table::parse(text, "A file").unwrap();
    let settings = table.table(&SET, "set").unwrap().unwrap().settings();
    for setting in &settings {
        table.put(setting.path.strip_prefix("x.").unwrap(), setting).unwrap();
    }
    let places = table.places();
    assert_eq!(&text[places.at("content.zero")], "\"x.content.zero\" = 2");
    assert_eq!(&text[places.at("a.b")], "\"x.a.b\" = 3");
    let mistake = table.take::<u32>(&DEPTH).unwrap_err();
    assert_eq!(&text[mistake.span.unwrap()], "\"x.depth\" = true");
    let through = Table::parse("a = 1", "A file").unwrap().put("a.b", &settings[0]).unwrap_err();
    assert!(through.message.contains("is not a table"), "{through:?}");
    assert_eq!(settings[1].shown(), "x.content.zero = 2");
}
