//! The syntax of dm-vdo's messages: `{ key : value, group : { key : value, }, }`.

/// One leaf: the names on the way to it joined with dots, and its value as written.
pub(super) type Leaf = (String, String);

/// The deepest nesting of groups that is read; dm-vdo has two levels.
const DEEPEST: usize = 16;

/// Reads such a text into its leaves, in their order. Commas may be missing or trail; a key without a value
/// has an empty one; unknown keys are kept.
///
/// # Errors
/// The mistake, and the text from where it is on.
pub(super) fn read(text: &str) -> Result<Vec<Leaf>, (&'static str, &str)> {
    let mut leaves = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    let mut key: Option<&str> = None;
    let mut opened = false;
    let mut rest = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    if !rest.starts_with('{') {
        return Err(("no opening brace", rest));
    }
    while let Some(next) = rest.chars().next() {
        let here = rest;
        match next {
            '{' => {
                match key.take() {
                    Some(name) => path.push(name),
                    None if !opened => opened = true,
                    None => return Err(("a group without a name", here)),
                }
                if path.len() > DEEPEST {
                    return Err(("too many groups inside groups", here));
                }
                rest = &rest[1..];
            }
            '}' => {
                empty_value(&mut leaves, &path, &mut key);
                rest = &rest[1..];
                if path.pop().is_none() {
                    return match rest.trim().trim_matches(',') {
                        "" => Ok(leaves),
                        _ => Err(("text after the closing brace", rest)),
                    };
                }
            }
            ',' => {
                empty_value(&mut leaves, &path, &mut key);
                rest = &rest[1..];
            }
            ':' => {
                if key.is_none() {
                    return Err(("a value without a name", here));
                }
                rest = &rest[1..];
            }
            c if c.is_whitespace() => rest = &rest[c.len_utf8()..],
            _ => {
                let end = rest.find(['{', '}', ',', ':']).unwrap_or(rest.len());
                let word = rest[..end].trim();
                rest = &rest[end..];
                match key.take() {
                    None if rest.starts_with(':') => key = Some(word),
                    None => return Err(("a name without a colon", here)),
                    Some(name) => leaves.push((joined(&path, name), word.to_owned())),
                }
            }
        }
    }
    Err(("the closing brace is missing", text))
}

fn empty_value(leaves: &mut Vec<Leaf>, path: &[&str], key: &mut Option<&str>) {
    if let Some(name) = key.take() {
        leaves.push((joined(path, name), String::new()));
    }
}

fn joined(path: &[&str], name: &str) -> String {
    let mut names = path.to_vec();
    names.push(name);
    names.join(".")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Tree {
        Leaf(String),
        Group(Vec<(String, Tree)>),
    }

    fn trees() -> impl Strategy<Value = Vec<(String, Tree)>> {
        let name = "[a-zA-Z][a-zA-Z0-9]{0,12}";
        let leaf = "[a-z0-9.-]{1,10}".prop_map(Tree::Leaf);
        let tree = leaf.prop_recursive(4, 40, 6, move |inner| {
            prop::collection::vec((name, inner), 0..6).prop_map(Tree::Group)
        });
        prop::collection::vec((name, tree), 0..8)
    }

    /// Prints as dm-vdo does (`trailing`), or with no comma before a brace.
    fn print(tree: &[(String, Tree)], trailing: bool, out: &mut String) {
        out.push_str("{ ");
        for (i, (name, value)) in tree.iter().enumerate() {
            out.push_str(&format!("{name} : "));
            match value {
                Tree::Leaf(text) => out.push_str(text),
                Tree::Group(inner) => print(inner, trailing, out),
            }
            if trailing || i + 1 < tree.len() {
                out.push_str(", ");
            }
        }
        out.push('}');
    }

    fn flat(tree: &[(String, Tree)], path: &str, out: &mut Vec<Leaf>) {
        for (name, value) in tree {
            let full = format!("{path}{name}");
            match value {
                Tree::Leaf(text) => out.push((full, text.clone())),
                Tree::Group(inner) => flat(inner, &format!("{full}."), out),
            }
        }
    }

    proptest! {
        #[test]
        fn every_tree_is_read_back_whole(tree in trees(), trailing: bool) {
            let (mut text, mut leaves) = (String::new(), Vec::new());
            print(&tree, trailing, &mut text);
            flat(&tree, "", &mut leaves);
            prop_assert_eq!(read(&text).unwrap(), leaves);
        }

        #[test]
        fn no_text_makes_the_reader_fall_over(text in "[{}:, a-z0-9\\PC]{0,80}") {
            let _ = read(&text);
            let _ = read(&format!("{{{text}}}"));
        }

        #[test]
        fn a_text_cut_off_anywhere_is_refused(tree in trees(), share in 0.0..1.0f64) {
            let mut text = String::new();
            print(&tree, true, &mut text);
            let cut = (text.len() as f64 * share) as usize;
            prop_assert!(read(&text[..cut]).is_err());
        }
    }

    #[test]
    fn a_key_without_a_value_is_kept_as_empty() {
        let leaves = read("{ mode : , x : 1, g : { y : } }").unwrap();
        let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        assert_eq!(leaves, [pair("mode", ""), pair("x", "1"), pair("g.y", "")]);
    }

    #[test]
    fn nesting_without_end_is_refused() {
        assert!(read(&"{ a : ".repeat(5000)).is_err());
    }
}
