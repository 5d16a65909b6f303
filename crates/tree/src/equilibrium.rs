//! The equilibrium of a load with `pick = "any"`, by formula, before it begins.
//!
//! Per name and operation, with the shares c of creates, d of deletes, r of renames and x of copies: a name without a file gets one with probability
//! c, and with x p for a copy if the copied file exists; a name with a file loses it with probability d, and with r p for a rename of another file,
//! either because its own name is given up or because its file is replaced. So the share p of names with a file settles where c (1 - p) + x p (1 - p)
//! = d p + r p^2.

use crate::{Distribution, Pick, TreeOp, TreeSpec};

/// The reason why the population or the bytes never come to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Never {
    /// Only with `pick = "any"` do operations miss; without misses the number of files grows until the range is full, or shrinks to none.
    Live,
    /// Names are not drawn with equal probability at all times.
    Distribution,
    /// No operation makes files.
    NoCreate,
    /// Files are made or grow, but are never removed.
    NoDelete,
}

/// A level at which a quantity comes to rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settles {
    /// The level: the share of names that have a file, or the bytes of all files together.
    pub level: f64,
    /// Number of operations of all workers in which the distance to the level falls to 1/e.
    pub time_constant: f64,
}

/// The equilibrium of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equilibrium {
    /// The share of names that have a file.
    pub population: Result<Settles, Never>,
    /// Bytes of all files together, including files that only a hard link still holds; growth by `write` is not included.
    pub bytes: Result<Settles, Never>,
}

/// Number of time constants after which a level counts as reached: less than 2 % is missing then.
const TIMES: f64 = 4.0;

impl Never {
    /// Describes the reason in words.
    pub fn why(self) -> &'static str {
        match self {
            Self::Live => {
                "with pick = \"live\" nothing misses: files become more until every name has one, or fewer until there is none"
            }
            Self::Distribution => "names are not drawn alike at all times",
            Self::NoCreate => "nothing makes files",
            Self::NoDelete => "files grow, and nothing removes them",
        }
    }

    /// Says how the load can be changed, or ended otherwise.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Live => "take pick \"any\", or end it after a time or a number of operations",
            Self::Distribution => {
                "take names \"uniform\", or end it after a time or a number of operations"
            }
            Self::NoCreate => {
                "add create to its operations, or end it after a time or a number of operations"
            }
            Self::NoDelete => {
                "add delete to its operations, or end it after a time or a number of operations"
            }
        }
    }
}

impl Settles {
    /// Number of operations of all workers until it is reached.
    pub fn operations(&self) -> u64 {
        (TIMES * self.time_constant).ceil() as u64
    }
}

impl Equilibrium {
    /// Returns the reason why it never comes to rest, if it does not.
    pub fn never(&self) -> Option<Never> {
        self.population.err().or(self.bytes.err())
    }

    /// Predicts the equilibrium of a load.
    pub fn predict(spec: &TreeSpec) -> Self {
        let never = |why| Self { population: Err(why), bytes: Err(why) };
        match (spec.pick, spec.distribution) {
            (Pick::Live, _) => return never(Never::Live),
            (Pick::Any, Distribution::Uniform) => {}
            (Pick::Any, _) => return never(Never::Distribution),
        }
        let share = |op| spec.ops.share(op);
        let (c, d, r) = (share(TreeOp::Create), share(TreeOp::Delete), share(TreeOp::Rename));
        let x = share(TreeOp::Reflink) + share(TreeOp::CopyFileRange);
        let names = spec.files as f64;
        if c == 0.0 {
            return never(Never::NoCreate);
        }
        let p = live_share(c, d, r, x);
        let settles = |level: f64, rate: f64| Settles { level, time_constant: names / rate };
        let population = settles(p, c + d - x + 2.0 * (r + x) * p);
        // The bytes of a file go with its name; a truncation removes half of them on average.
        let gone = d + r * p;
        let shrinks = share(TreeOp::Truncate) / 2.0;
        let dies = gone + shrinks - x * (1.0 - p);
        let grows = (share(TreeOp::Append) + share(TreeOp::Fallocate)) * spec.size.mean();
        let bytes = if dies > 1e-12 {
            let named = (spec.size.mean() * c * (1.0 - p) + grows * p) / dies;
            let at_end = (gone * named / p + grows) / (gone + shrinks);
            let (held, rate) = held_by_links(share(TreeOp::Hardlink) * p, d * p, gone);
            Ok(settles(names * (named + held * at_end), rate.min(dies)))
        } else if grows == 0.0 {
            // In the end every name has a file, with the size that it was made with.
            Ok(Settles { level: names * spec.size.mean(), ..population })
        } else {
            Err(Never::NoDelete)
        };
        Self { population: Ok(population), bytes }
    }
}

/// The root of c (1 - p) + x p (1 - p) = d p + r p^2 between 0 and 1.
fn live_share(c: f64, d: f64, r: f64, x: f64) -> f64 {
    let (square, linear) = (r + x, c + d - x);
    if square == 0.0 {
        return c / (c + d);
    }
    // This form loses no precision where the square term is small.
    2.0 * c / (linear + (linear * linear + 4.0 * square * c).sqrt())
}

/// Number of files per name that only a hard link still holds, and the rate at which this number settles. Links are made at the rate `made` and
/// removed at the rate `removed`; linked files lose their names at the rate `gone`.
fn held_by_links(made: f64, removed: f64, gone: f64) -> (f64, f64) {
    if made == 0.0 || gone == 0.0 {
        return (0.0, f64::INFINITY);
    }
    let linked = made / (made + removed);
    let named = made * (1.0 - linked) / (gone + removed);
    (linked - named, made + removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;

    /// The table that fs-drift has built in.
    pub(crate) const BUILT_IN: &str = "read=2,randread=1,create=4,write=2,randwrite=1,append=4,softlink=0.05,hardlink=0.05,delete=0.1,rename=1,\
         truncate=0.2,readdir=0.1";

    fn predict(ops: &str) -> Equilibrium {
        Equilibrium::predict(&TreeSpec {
            ops: ops.parse().unwrap(),
            files: 1000,
            levels: 0,
            dirs: 1,
            size: Size::Fixed(4096),
            record: Size::Fixed(4096),
            pick: Pick::Any,
            distribution: Distribution::Uniform,
            workers: 1,
            fsync_percent: 0.0,
            fdatasync_percent: 0.0,
        })
    }

    #[test]
    fn the_levels_of_known_tables_are_what_was_measured() {
        let simple = predict("create=40,read=40,delete=20");
        let population = simple.population.unwrap();
        assert!((population.level - 2.0 / 3.0).abs() < 1e-9);
        assert!((population.time_constant / 1000.0 - 1.0 / 0.6).abs() < 1e-9);
        let bytes = simple.bytes.unwrap();
        assert!((bytes.level - 4096.0 * 1000.0 * 2.0 / 3.0).abs() < 1.0, "{bytes:?}");
        assert!((bytes.time_constant / 1000.0 - 5.0).abs() < 1e-9);
        assert_eq!(bytes.operations(), 20_000);
        let level = predict(BUILT_IN).population.unwrap().level;
        assert!((level - 0.814).abs() < 0.01, "{level}");
    }

    #[test]
    fn what_never_comes_to_rest_is_said_before_it_begins() {
        assert_eq!(predict("create=10,append=10").bytes, Err(Never::NoDelete));
        assert_eq!(predict("create=10,append=10").population.unwrap().level, 1.0);
        assert_eq!(predict("create=1,read=1").bytes.unwrap().level, 4096.0 * 1000.0);
        assert_eq!(predict("delete=1,read=1").population, Err(Never::NoCreate));
        let only_renames = predict("create=1,rename=1").population.unwrap().level;
        assert!((only_renames - (5.0f64.sqrt() - 1.0) / 2.0).abs() < 1e-9, "{only_renames}");
        let copies = predict("create=1,reflink=8,delete=1").population.unwrap().level;
        let left = (1.0 - copies) * (1.0 + 8.0 * copies);
        assert!((left - copies).abs() < 1e-9, "{copies}");
    }
}
