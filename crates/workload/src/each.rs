//! Options of single operations.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use units::QuantityError;

use crate::{BlockSize, OpName, Pattern};

/// Options of one operation that replace those of the load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OperationOverride {
    /// Its block size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_size: Option<BlockSize>,
    /// Its pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
}

/// Block sizes and patterns of single operations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PerOperation(BTreeMap<OpName, OperationOverride>);

impl PerOperation {
    /// Returns the options that are set for `op` alone.
    pub fn of(&self, op: OpName) -> Option<&OperationOverride> {
        self.0.get(&op)
    }

    /// Operations that have separate options.
    pub fn names(&self) -> impl Iterator<Item = OpName> + '_ {
        self.0.keys().copied()
    }

    /// Tells whether no operation has separate options.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorts the lists of sizes.
    pub(crate) fn sort(&mut self) {
        self.0
            .values_mut()
            .filter_map(|options| options.block_size.as_mut())
            .for_each(BlockSize::sort);
    }

    /// Adds the options of `other`; fails with the operation for which both set the same option.
    pub fn merge(&mut self, other: Self) -> Result<(), OpName> {
        for (op, added) in other.0 {
            let mine = self.0.entry(op).or_default();
            let sizes = [(added.block_size.is_some(), mine.block_size.is_some())];
            let patterns = (added.pattern.is_some(), mine.pattern.is_some());
            if sizes.contains(&(true, true)) || patterns == (true, true) {
                return Err(op);
            }
            mine.block_size = added.block_size.or(mine.block_size.take());
            mine.pattern = added.pattern.or(mine.pattern.take());
        }
        Ok(())
    }
}

impl std::str::FromStr for PerOperation {
    type Err = QuantityError;

    /// Reads `randread.block_size=64k;write.pattern=zipf:1.2`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError {
            text: text.to_owned(),
            what: "setting of one operation",
            example: "OPERATION.block_size=SIZE or OPERATION.pattern=PATTERN, several separated by ;",
        };
        let mut each = Self::default();
        for part in text.split(';').filter(|_| !text.trim().is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(error)?;
            let (op, key) = name.split_once('.').ok_or_else(error)?;
            let mut overridden = OperationOverride::default();
            match key.trim().replace('-', "_").as_str() {
                "block_size" => overridden.block_size = Some(value.parse()?),
                "pattern" => overridden.pattern = Some(value.parse()?),
                _ => return Err(error()),
            }
            each.merge(Self(BTreeMap::from([(op.parse()?, overridden)]))).map_err(|_| error())?;
        }
        Ok(each)
    }
}

impl fmt::Display for PerOperation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut apart = "";
        for (op, options) in &self.0 {
            if let Some(size) = &options.block_size {
                write!(f, "{apart}{op}.block_size={size}")?;
                apart = ";";
            }
            if let Some(pattern) = &options.pattern {
                write!(f, "{apart}{op}.pattern={pattern}")?;
                apart = ";";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_table_say_the_same_of_an_operation() {
        let text = "write.block_size=4k=50,64k=50;randread.block_size=8k;randread.pattern=zipf:1.2";
        let each: PerOperation = text.parse().unwrap();
        assert_eq!(each.to_string(), text);
        let table: PerOperation = toml::from_str(
            "randread = { block_size = \"8k\", pattern = \"zipf:1.2\" }\nwrite.block_size = \"4k=50,64k=50\"",
        )
        .unwrap();
        assert_eq!(table, each);
        let json = serde_json::to_string(&each).unwrap();
        assert_eq!(serde_json::from_str::<PerOperation>(&json).unwrap(), each);
        assert_eq!("".parse(), Ok(PerOperation::default()));
    }

    #[test]
    fn refuses_what_is_said_twice_or_of_nothing() {
        for text in [
            "read",
            "read.block_size",
            "read=4k",
            "reed.block_size=4k",
            "read.size=4k",
            "read.block_size=4k;",
            "read.block_size=4k;read.block_size=8k",
            "read.pattern=rnd",
        ] {
            assert!(text.parse::<PerOperation>().is_err(), "{text}");
        }
        assert!(toml::from_str::<PerOperation>("read.depth = 4").is_err());
    }
}
