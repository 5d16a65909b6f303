//! The page on the doctor lists every rule.

/// The tables of the page, made from the list.
fn tables() -> String {
    let mut text = String::new();
    let mut group = None;
    for rule in doctor::rules() {
        if group != Some((rule.layer, rule.when)) {
            group = Some((rule.layer, rule.when));
            let layer = rule.layer.map_or("Any layer".to_owned(), |layer| format!("`{layer}`"));
            let head =
                "| rule | says | reads | fires | source |\n| --- | --- | --- | --- | --- |\n";
            text.push_str(&format!("\n### {layer}, {}\n\n{head}", rule.when.words()));
        }
        let fires = rule.threshold.map_or_else(String::new, |threshold| threshold.to_string());
        let row = [rule.text, rule.reads, &fires, rule.source].join(" | ");
        text.push_str(&format!("| `{}` | {row} |\n", rule.id));
    }
    text.push('\n');
    text
}

#[test]
fn the_page_lists_every_rule_as_it_is() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rest = page.split_once("<!-- rules: begin -->\n").unwrap().1;
    let written = rest.split_once("<!-- rules: end -->").unwrap().0;
    let tables = tables();
    assert!(written == tables, "put this between the marks of docs/doctor.md:\n{tables}");
}
