//! Tests of whole disks.

#[cfg(test)]
mod power_cut;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod tables;
