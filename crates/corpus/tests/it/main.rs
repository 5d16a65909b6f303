//! Corpora on a real file system.

#[cfg(test)]
mod made;
