//! Tests of the whole program. What needs the lab, a browser or root says so when it cannot run.

mod architecture;
mod documents;
mod killed;
mod lab;
mod load;
mod page;
mod program;
mod refusals;
mod simulated;
