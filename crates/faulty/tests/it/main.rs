//! The mounted file, driven by plain system calls.
#[cfg(test)]
mod mounted;
