//! Every rule fires on what it is for, and on nothing else.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod content;
#[cfg(test)]
mod page;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod standing;
#[cfg(test)]
mod watched;
