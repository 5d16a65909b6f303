//! Executes a Plan, here or in a guest.
#![forbid(unsafe_code)]
