//! Devices as lsblk lists them: with `-O -P` as pairs, else as a tree.

use std::collections::BTreeMap;

/// One line of lsblk: a device below another one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// The name that lsblk gives: that of the device mapper, where it made the device.
    pub name: String,
    /// Major and minor number.
    pub number: String,
    /// Its kind: `disk`, `part`, `lvm`, `crypt`.
    pub kind: String,
    /// The name, in the same list, of the device that it stands on.
    pub on: Option<String>,
    /// Other columns, by their heads.
    pub columns: BTreeMap<String, String>,
}

/// The lines of `lsblk -O -P`.
pub fn pairs(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        let mut columns: BTreeMap<String, String> = BTreeMap::new();
        let mut rest = line;
        while let Some((key, after)) = rest.split_once("=\"") {
            let (value, after) = after.split_once('"')?;
            columns.insert(key.trim().replace(['-', '_', '%'], ""), value.to_owned());
            rest = after;
        }
        let take = |key: &str| columns.get(key).filter(|value| !value.is_empty()).cloned();
        let on = take("PKNAME");
        Some(Line {
            name: take("KNAME")?,
            number: take("MAJ:MIN").or_else(|| take("MAJMIN"))?,
            kind: take("TYPE")?,
            on,
            columns,
        })
    };
    text.lines().filter_map(line).collect()
}

/// The lines of the tree that lsblk draws by default.
pub fn tree(text: &str) -> Vec<Line> {
    let (mut found, mut open): (Vec<Line>, Vec<(usize, String)>) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let start = line.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(0);
        let depth = line[..start].chars().count();
        let words: Vec<&str> = line[start..].split_whitespace().collect();
        let [name, number, _, _, _, kind, ..] = words[..] else { continue };
        if !number.contains(':') || number == "MAJ:MIN" {
            continue;
        }
        open.retain(|(above, _)| *above < depth);
        found.push(Line {
            name: name.to_owned(),
            number: number.to_owned(),
            kind: kind.to_owned(),
            on: open.last().map(|(_, name)| name.clone()),
            columns: BTreeMap::new(),
        });
        open.push((depth, name.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_and_pairs_tell_what_stands_on_what() {
        let drawn = "NAME        MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n\
                     sda           8:0    0  20G  0 disk \n\
                     ├─sda1        8:1    0   1G  0 part /boot\n\
                     └─sda2        8:2    0  19G  0 part \n\
                     \u{20} └─vg-root 253:0    0  19G  0 lvm  /\n\
                     sdb           8:16   0   1T  0 disk \n";
        let on: Vec<_> = tree(drawn).into_iter().map(|line| line.on).collect();
        let parent = |name: &str| Some(name.to_owned());
        assert_eq!(on, [None, parent("sda"), parent("sda"), parent("sda2"), None]);
        let printed = "NAME=\"vg-root\" KNAME=\"dm-0\" PKNAME=\"sda2\" MAJ:MIN=\"253:0\" TYPE=\"lvm\" ROTA=\"1\" DISC-MAX=\"0B\"\n";
        let line = &pairs(printed)[0];
        assert_eq!((line.name.as_str(), line.on.as_deref()), ("dm-0", Some("sda2")));
        assert_eq!(line.columns["DISCMAX"], "0B");
        assert!(pairs("NAME sda\n").is_empty() && tree("nothing here\n").is_empty());
    }
}
