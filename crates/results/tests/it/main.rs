//! A result from its writing to its reading, through every kind of cut.

#[cfg(test)]
mod checksums;
#[cfg(test)]
mod disturbed;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod manual;
#[cfg(test)]
mod old;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod sealing;
#[cfg(test)]
mod traits;
#[cfg(test)]
mod written;
