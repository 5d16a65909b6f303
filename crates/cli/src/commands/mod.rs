//! The commands, one file each: from arguments to calls of the libraries, and from their answers to text.

pub mod advise;
pub mod age;
pub mod bisect;
pub mod catalogue;
pub mod clean;
pub mod compare;
pub mod disk;
pub mod doctor;
mod ends;
pub mod estimate;
pub mod explain;
pub mod export;
pub mod fio;
pub mod guest;
pub mod kernels;
pub mod lab;
pub mod layers;
pub mod load;
pub mod load_tree;
mod logs;
pub mod pack;
pub mod report;
pub mod run;
pub mod shell;
pub mod show;
pub mod trend;
pub mod uvdo;
