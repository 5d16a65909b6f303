//! The mix: operations and their shares.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{Percent, QuantityError};

use crate::OpName;

/// Operations and their shares in percent, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ops(Vec<(OpName, Percent)>);

const EXAMPLE: &str = "operations with shares that sum to 100, as in randwrite=70,randread=30";

impl Ops {
    /// A mix of one operation only.
    pub fn only(op: OpName) -> Self {
        Self(vec![(op, Percent(100.0))])
    }

    /// The operations, in order.
    pub fn names(&self) -> impl Iterator<Item = OpName> + '_ {
        self.0.iter().map(|&(op, _)| op)
    }

    /// The operations and their shares, in order.
    pub fn shares(&self) -> impl Iterator<Item = (OpName, Percent)> + Clone + '_ {
        self.0.iter().copied()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorts the operations, since their order in a mix makes no difference.
    pub(crate) fn sort(&mut self) {
        self.0.sort_by_key(|&(op, _)| op);
    }

    /// Adds an operation; returns false if it is there already.
    fn push(&mut self, op: OpName, share: Percent) -> bool {
        let new = !self.names().any(|other| other == op);
        self.0.push((op, share));
        new
    }
}

impl std::str::FromStr for Ops {
    type Err = QuantityError;

    /// Reads `randwrite=70,randread=30`; a single name has all I/Os. Whether the shares sum to 100 is checked by [`crate::LoadSpec::validate`], which
    /// can give a better message.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError { text: text.to_owned(), what: "mix", example: EXAMPLE };
        if !text.contains('=') {
            let meant = crate::fio::fio_operation(text.trim());
            let error = || QuantityError { example: meant.unwrap_or(EXAMPLE), ..error() };
            return text.parse().map(Self::only).map_err(|_| error());
        }
        let mut ops = Self::default();
        for part in text.split(',') {
            let (name, share) = part.split_once('=').ok_or_else(error)?;
            if !ops.push(name.parse()?, share.parse()?) {
                return Err(QuantityError { what: "mix: it has an operation twice", ..error() });
            }
        }
        Ok(ops)
    }
}

impl fmt::Display for Ops {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, (op, share)) in self.0.iter().enumerate() {
            write!(f, "{}{op}={}", if i == 0 { "" } else { "," }, share.0)?;
        }
        Ok(())
    }
}

impl Serialize for Ops {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(Some(self.0.len()))?;
        for (op, share) in &self.0 {
            map.serialize_entry(op, share)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Ops {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Mix;
        impl<'de> Visitor<'de> for Mix {
            type Value = Ops;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("operations and their shares, as in { randwrite = 70, randread = 30 }")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Ops, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ops, A::Error> {
                let mut ops = Ops::default();
                while let Some((op, share)) = map.next_entry()? {
                    if !ops.push(op, share) {
                        return Err(A::Error::custom(format!("operation {op} is given twice")));
                    }
                }
                Ok(ops)
            }
        }
        input.deserialize_any(Mix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_table_name_the_same_mix() {
        let text: Ops = "randwrite=70,randread=30".parse().unwrap();
        let table: Ops = serde_json::from_str(r#"{"randwrite": 70, "randread": "30%"}"#).unwrap();
        assert_eq!(text, table);
        assert_eq!(text.to_string().parse(), Ok(text.clone()));
        assert_eq!(serde_json::to_string(&text).unwrap(), r#"{"randwrite":70.0,"randread":30.0}"#);
        assert_eq!("write".parse(), Ok(Ops::only(OpName::Write)));
    }

    #[test]
    fn refuses_what_is_not_a_mix_and_says_how_to_write_one() {
        for text in
            ["", "trim=100", "read", "read=50,read=50", "read=50,", "read=110", "read=50;write=50"]
        {
            if text == "read" {
                continue;
            }
            let error = text.parse::<Ops>().expect_err(text).to_string();
            assert!(error.contains("write"), "{text}: {error}");
        }
        assert!(serde_json::from_str::<Ops>(r#"{"read": 50, "read": 50}"#).is_err());
        let unknown = serde_json::from_str::<Ops>(r#"{"trim": 100}"#).unwrap_err().to_string();
        assert!(unknown.contains("randwrite"), "{unknown}");
    }
}
