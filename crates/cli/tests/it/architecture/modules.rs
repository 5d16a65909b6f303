//! The modules of a crate and what each of them imports, read from its sources.
//!
//! A module is a file. It uses another one when a `use` or a path in its code names something that the other defines. A name that
//! is re-exported (by a parent, by the crate's root) counts for the module that defines it: so a parent may re-export its children
//! and children may use each other through it. A parent may call its children or children may use what their parent defines,
//! not both. Declaring a module does not count as using it, and tests (`#[cfg(test)]`) do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module's place in its crate: the names from the root on; empty for the root.
type Name = Vec<String>;

#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    /// Names that `use` brings in, and what they stand for.
    names: BTreeMap<String, Name>,
    /// Paths that the code names.
    paths: Vec<Name>,
}

/// All modules of a crate.
#[derive(Default)]
pub(super) struct Modules(BTreeMap<Name, Module>);

impl Modules {
    /// Those of the crate whose sources are in `folder`.
    pub(super) fn read(folder: &Path) -> Self {
        let root = ["lib.rs", "main.rs"].map(|name| folder.join(name));
        let root = root.iter().find(|file| file.exists()).unwrap();
        let mut modules = Self::default();
        modules.add(Vec::new(), root, folder);
        modules
    }

    fn add(&mut self, name: Name, file: &Path, folder: &Path) {
        let text = std::fs::read_to_string(file).unwrap();
        let module = Module::parse(&text);
        for child in &module.children {
            let (inner, name) =
                (folder.join(child), [&name[..], std::slice::from_ref(child)].concat());
            let file = folder.join(format!("{child}.rs"));
            let file = if file.exists() { file } else { inner.join("mod.rs") };
            self.add(name, &file, &inner);
        }
        self.0.insert(name, module);
    }

    /// The module that defines what `path` means in the module `at`; `None` outside of the crate.
    fn definer(&self, at: &Name, path: &[String], depth: usize) -> Option<Name> {
        let (mut here, mut rest) = (at.clone(), path);
        match path[0].as_str() {
            "crate" => (here, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    here.pop();
                    rest = &rest[1..];
                }
            }
            first if self.0[at].children.contains(first) => {}
            first => {
                let path = self.0[at].names.get(first).filter(|_| depth < 9)?;
                return self.definer(at, &[path, &rest[1..]].concat(), depth + 1);
            }
        }
        while let Some(part) = rest.first() {
            let module = &self.0[&here];
            if module.children.contains(part) {
                here.push(part.clone());
                rest = &rest[1..];
            } else if let Some(path) = module.names.get(part).filter(|_| depth < 9) {
                return self.definer(&here, &[path, &rest[1..]].concat(), depth + 1);
            } else {
                break;
            }
        }
        Some(here)
    }

    /// A circle of modules that use each other, as `a -> b -> a`, if there is one.
    pub(super) fn circle(&self) -> Option<String> {
        let uses = |(at, module): (&Name, &Module)| {
            let used = module.paths.iter().filter_map(|path| self.definer(at, path, 0));
            (at.clone(), used.filter(|used| used != at).collect::<BTreeSet<_>>())
        };
        let mut uses: BTreeMap<Name, BTreeSet<Name>> = self.0.iter().map(uses).collect();
        // Modules that use none of those that are left are in no circle.
        while let Some(free) = uses.iter().find(|(_, used)| used.is_empty()) {
            let free = free.0.clone();
            uses.remove(&free);
            for used in uses.values_mut() {
                used.remove(&free);
            }
        }
        let mut way = vec![uses.keys().next()?];
        loop {
            // Each of those that are left uses another one.
            let next = uses[way[way.len() - 1]].first()?;
            if let Some(start) = way.iter().position(|&seen| seen == next) {
                let name = |name: &Name| [&["crate".to_owned()], &name[..]].concat().join("::");
                let names = way[start..].iter().chain([&next]).map(|&n| name(n));
                return Some(names.collect::<Vec<_>>().join(" -> "));
            }
            way.push(next);
        }
    }
}

impl Module {
    fn parse(text: &str) -> Self {
        let tokens = without_tests(&tokens(text));
        let (mut module, mut at) = (Self::default(), 0);
        let mut code = Vec::new();
        while at < tokens.len() {
            if tokens[at] == "mod" && tokens.get(at + 2).is_some_and(|t| t == ";") {
                module.children.insert(tokens[at + 1].clone());
                at += 3;
            } else if tokens[at] == "use" {
                let public = at > 0 && [")", "pub"].contains(&tokens[at - 1].as_str());
                let mut found = Vec::new();
                at = tree(&tokens, at + 1, &[], &mut found);
                for (path, name) in found {
                    if !public {
                        module.paths.push(path.clone());
                    }
                    module.names.insert(name, path);
                }
            } else {
                code.push(tokens[at].clone());
                at += 1;
            }
        }
        let mut at = 0;
        while at < code.len() {
            let start = at;
            while is_name(&code[at]) && code.get(at + 1).is_some_and(|t| t == "::") {
                at += 2;
            }
            let end =
                if at > start && code.get(at).is_some_and(|t| is_name(t)) { at + 1 } else { at };
            let path: Name = code[start..end].iter().filter(|t| *t != "::").cloned().collect();
            let first = path.first().map(String::as_str).unwrap_or_default();
            if ["crate", "super", "self"].contains(&first) || module.children.contains(first) {
                module.paths.push(path);
            }
            at = end.max(start + 1);
        }
        module
    }
}

/// Reads one tree of a `use` from token `at` on; gives where it ends.
fn tree(
    tokens: &[String],
    mut at: usize,
    prefix: &[String],
    found: &mut Vec<(Name, String)>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens[at].as_str() {
            "{" => {
                at += 1;
                while tokens[at] != "}" {
                    at = tree(tokens, at, &path, found);
                    at += usize::from(tokens[at] == ",");
                }
                return at + 1;
            }
            "*" => {
                found.push((path, "*".into()));
                return at + 1;
            }
            "self" if !path.is_empty() => {}
            part => path.push(part.to_owned()),
        }
        at += 1;
        if tokens[at] == "::" {
            at += 1;
            continue;
        }
        let mut name = path[path.len() - 1].clone();
        if tokens[at] == "as" {
            name.clone_from(&tokens[at + 1]);
            at += 2;
        }
        found.push((path, name));
        return at;
    }
}

/// Leaves out what stands behind `#[cfg(test)]`: up to a semicolon or comma, a whole pair of braces, or the end of what it is in.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut left, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if !tokens[at..].iter().take(TEST.len()).eq(TEST.iter()) {
            left.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0;
        at += TEST.len();
        while at < tokens.len() {
            let token = tokens[at].as_str();
            let closes = matches!(token, "}" | ")" | "]");
            if depth == 0 && closes {
                break;
            }
            depth += usize::from(matches!(token, "{" | "(" | "["));
            depth -= usize::from(closes);
            at += 1;
            let ends_use = tokens.get(at).is_some_and(|next| token == "}" && next == ";");
            if depth == 0 && matches!(token, ";" | "," | "}") && !ends_use {
                break;
            }
        }
    }
    left
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::` and single marks; comments, strings and characters are left out.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let text: Vec<char> = text.chars().collect();
    let starts =
        |at: usize, with: &str| with.chars().enumerate().all(|(n, c)| text.get(at + n) == Some(&c));
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let c = text[at];
        let raw = (c == 'r').then(|| text[at + 1..].iter().take_while(|&&c| c == '#').count());
        if starts(at, "//") {
            at += text[at..].iter().take_while(|&&c| c != '\n').count();
        } else if let Some(marks) = raw.filter(|&marks| text.get(at + 1 + marks) == Some(&'"')) {
            let end = format!("\"{}", "#".repeat(marks));
            at += 2 + marks;
            while !starts(at, &end) {
                at += 1;
            }
            at += end.len();
        } else if c == '"' {
            at += 1;
            while text[at] != '"' {
                at += if text[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if c == '\'' && text.get(at + 1) == Some(&'\\') {
            at += 3;
            at += 1 + text[at..].iter().take_while(|&&c| c != '\'').count();
        } else if c == '\'' && text.get(at + 2) == Some(&'\'') {
            at += 3;
        } else if c.is_alphanumeric() || c == '_' {
            let length =
                text[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
            found.push(text[at..at + length].iter().collect());
            at += length;
        } else if starts(at, "::") {
            found.push("::".into());
            at += 2;
        } else {
            found.extend((!c.is_whitespace()).then(|| c.to_string()));
            at += 1;
        }
    }
    found
}
