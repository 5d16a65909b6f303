//! The file as written: its tables read, each mistake at its place.

pub(crate) mod attributes;
pub(crate) mod corpora;
pub(crate) mod diagnostic;
pub(crate) mod document;
pub(crate) mod environment;
pub(crate) mod expectations;
pub(crate) mod factors;
pub(crate) mod file;
pub(crate) mod given;
pub(crate) mod keys;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod names;
pub(crate) mod pictures;
pub(crate) mod questions;
pub(crate) mod repeat;
pub(crate) mod reported;
pub(crate) mod scale;
pub(crate) mod shipped;
pub(crate) mod stacks;
pub(crate) mod subject;
pub(crate) mod sweep;
pub(crate) mod trial;
pub(crate) mod variant_figure;
pub(crate) mod variants;
