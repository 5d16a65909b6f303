//! The normal form of loads: loads that do the same have the same form, however they are written.

use units::Bytes;

use crate::{BlockSize, DepthUnit, Hot, LoadSpec, OpName, Pattern, Portion};

impl LoadSpec {
    /// Returns the form that is the same for all loads which do the same as this one on a target of `target` bytes; where its size is not known,
    /// ranges in bytes and ranges in shares of the target count as different.
    #[must_use]
    pub fn normal_form(&self, target: Option<u64>) -> Self {
        let mut form = target.map_or_else(|| self.clone(), |target| self.clone().in_bytes(target));
        form.offset = form.offset.filter(|offset| !offset.is_zero());
        let start = form.offset.map_or(Some(0), |offset| offset.bytes().map(|start| start.0));
        let rest = target.zip(start).map(|(target, start)| target.saturating_sub(start));
        form.size = form.size.filter(|size| match size {
            Portion::Bytes(bytes) => rest != Some(bytes.0),
            Portion::Share(share) => start != Some(0) || share.0 != 100.0,
        });
        (form.depth, form.depth_unit) = (form.depth_ios(), DepthUnit::Ios);
        form.ops.sort();
        form.block_size.sort();
        form.each.sort();
        let resets: [fn(&mut Self); 3] =
            [|load| load.align = None, |load| load.hot = None, |load| load.pattern = None];
        for unsay in resets {
            let mut unsaid = form.clone();
            unsay(&mut unsaid);
            let same = |op| unsaid.places_of(op) == form.places_of(op);
            if form.placed().all(same) {
                form = unsaid;
            }
        }
        form
    }

    /// Returns everything that determines where an operation's I/Os go.
    fn places_of(&self, op: OpName) -> (Pattern, Hot, u64, OpName) {
        (self.pattern_of(op), self.hot_of(op), self.align_of(op), self.head_of(op))
    }
}

impl BlockSize {
    /// Sorts a list of sizes, since its order makes no difference.
    pub(crate) fn sort(&mut self) {
        if let Self::Weighted(sizes) = self {
            sizes.sort_by_key(|(size, _): &(Bytes, f64)| *size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> LoadSpec {
        toml::from_str(&format!("ops = {{ randread = 100 }}\n{text}")).unwrap()
    }

    #[test]
    fn loads_that_do_the_same_on_a_target_are_one_however_they_are_written() {
        for (one, other) in [
            ("block_size = \"4k=50,8k=50\"", "block_size = \"8k=50,4k=50\""),
            (
                "each = { randread = { block_size = \"4k=50,8k=50\" } }",
                "each.randread.block_size = \"8k=50,4k=50\"",
            ),
            ("size = \"1G\"", "size = \"100%\""),
            ("size = \"1G\"", ""),
            ("offset = 0", "offset = \"0%\""),
            ("offset = \"512M\"", "offset = \"50%\"\nsize = \"50%\""),
            ("align = \"4k\"", ""),
            ("pattern = \"uniform\"", ""),
            (
                "block_size = \"8k\"\ndepth = 4\ndepth_unit = \"4k\"",
                "block_size = \"8k\"\ndepth = 2",
            ),
        ] {
            let (one, other) = (load(one), load(other));
            assert_ne!(one, other);
            assert_eq!(one.normal_form(Some(1 << 30)), other.normal_form(Some(1 << 30)), "{one:?}");
        }
        let mixed = |text: &str| toml::from_str::<LoadSpec>(text).unwrap().normal_form(None);
        let (one, other) = ("ops = { read = 70, write = 30 }", "ops = { write = 30, read = 70 }");
        assert_eq!(mixed(one), mixed(other));
        for (one, other) in [("size = \"100%\"", ""), ("offset = \"0%\"", "offset = 0")] {
            assert_eq!(load(one).normal_form(None), load(other).normal_form(None));
        }
    }

    #[test]
    fn loads_that_do_something_else_stay_apart() {
        for (one, other) in [
            ("block_size = \"4k=50,8k=50\"", "block_size = \"4k=40,8k=60\""),
            ("size = \"1G\"", "size = \"50%\""),
            ("align = \"8k\"", ""),
            ("pattern = \"zipf:1.1\"", "pattern = \"zipf:1.2\""),
            ("pattern = \"zipf:1.1\"", "pattern = \"zipf:1.1\"\nhot = \"contiguous\""),
            ("depth = 4", "depth = 4\ndepth_unit = \"4k\"\nblock_size = \"8k\""),
        ] {
            let (one, other) = (load(one), load(other));
            assert_ne!(one.normal_form(Some(1 << 30)), other.normal_form(Some(1 << 30)), "{one:?}");
        }
        assert_ne!(
            load("size = \"1G\"").normal_form(None),
            load("size = \"100%\"").normal_form(None)
        );
    }
}
