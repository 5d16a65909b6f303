//! Names: the files of an index range lie in the leaf directories of a tree, laid out as fs-drift does.

/// The shape of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    levels: u32,
    dirs: u64,
    leaves: u64,
    per_leaf: u64,
}

/// The kind of object that the name of an index refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A file (`f000000007`).
    File,
    /// A soft link beside it (`f000000007.s`).
    Soft,
    /// A hard link beside it (`f000000007.h`).
    Hard,
    /// A directory that `mkdir` makes for the index (`m000000007`).
    Directory,
}

impl Layout {
    /// A tree for `names` indices with `levels` levels of directories, and `dirs` directories in each directory.
    pub fn new(names: u64, levels: u32, dirs: u32) -> Self {
        let dirs = u64::from(dirs.max(1));
        let leaves = dirs.checked_pow(levels).unwrap_or(u64::MAX);
        Self { levels, dirs, leaves, per_leaf: (names / leaves).max(1) }
    }

    /// Number of directories at the lowest level.
    pub fn leaves(&self) -> u64 {
        self.leaves
    }

    /// The number of the leaf directory that an index lies in. If the indices cannot be divided evenly, the first leaves get one more.
    #[inline]
    pub fn leaf_of(&self, index: u64) -> u64 {
        index / self.per_leaf % self.leaves
    }

    /// The path of a leaf directory below the root of the tree; empty if it is the root itself.
    pub fn path(&self, leaf: u64) -> String {
        let mut rest = leaf;
        let level = |_| {
            let name = format!("d{:04}", 1 + rest % self.dirs);
            rest /= self.dirs;
            name
        };
        (0..self.levels).map(level).collect::<Vec<_>>().join("/")
    }
}

/// The name of an index in its directory, made without allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    text: [u8; 12],
    len: u8,
    index: u64,
    kind: NameKind,
}

impl Name {
    /// The name of `index`; only its last nine digits are used.
    #[inline]
    pub fn new(index: u64, kind: NameKind) -> Self {
        let (first, last) = match kind {
            NameKind::File => (b'f', None),
            NameKind::Soft => (b'f', Some(b's')),
            NameKind::Hard => (b'f', Some(b'h')),
            NameKind::Directory => (b'm', None),
        };
        let mut text = *b"f000000000.h";
        text[0] = first;
        let mut rest = index;
        for digit in text[1..10].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        text[11] = last.unwrap_or_default();
        Self { text, len: if last.is_some() { 12 } else { 10 }, index, kind }
    }

    /// Its index.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The kind of object that it refers to.
    pub fn kind(&self) -> NameKind {
        self.kind
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        // All of it is ASCII.
        std::str::from_utf8(&self.text[..usize::from(self.len)]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_fs_drift() {
        let name = |index, kind| Name::new(index, kind).as_str().to_owned();
        assert_eq!(name(7, NameKind::File), "f000000007");
        assert_eq!(name(123_456_789, NameKind::Soft), "f123456789.s");
        assert_eq!(name(0, NameKind::Hard), "f000000000.h");
        assert_eq!(name(42, NameKind::Directory), "m000000042");
    }

    #[test]
    fn every_leaf_has_as_many_names_and_the_first_have_what_is_left_over() {
        let layout = Layout::new(1003, 2, 10);
        assert_eq!(layout.leaves(), 100);
        let mut counts = [0; 100];
        (0..1003).for_each(|index| counts[layout.leaf_of(index) as usize] += 1);
        assert_eq!((counts[0], counts[1], counts[99]), (13, 10, 10));
        let paths: std::collections::BTreeSet<_> = (0..100).map(|leaf| layout.path(leaf)).collect();
        assert_eq!(paths.len(), 100);
        assert_eq!(
            (layout.path(0).as_str(), layout.path(12).as_str()),
            ("d0001/d0001", "d0003/d0002")
        );
        let flat = Layout::new(10, 0, 5);
        assert_eq!((flat.leaves(), flat.leaf_of(9), flat.path(0).as_str()), (1, 0, ""));
        assert_eq!(Layout::new(3, 2, 10).leaf_of(2), 2, "more leaves than names");
    }
}
