//! The program `fathom`: arguments, commands, rendering of events; no logic.

fn main() {}
