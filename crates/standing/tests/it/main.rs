//! Stacks of machines: recorded as sosreports, and that of this machine.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod report;
#[cfg(test)]
mod this_machine;
#[cfg(test)]
mod unpacked;
