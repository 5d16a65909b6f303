//! Statistics that the device mapper keeps of a node: a region over all of it, with a histogram of latency.

use std::io;
use std::path::Path;

use layers::machine::bound_ns;
use sys::dm::Dm;

/// Number of counters before the histogram in the statistics of a region.
const COUNTERS: usize = 13;
/// Indices of the completed reads and the completed writes among them.
const DONE: [usize; 2] = [0, 4];

/// A region of statistics of a node, which is deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct Region {
    dm: Dm,
    node: String,
    program: String,
    id: String,
}

/// I/Os of a node since its region was made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NodeCounts {
    pub reads: u64,
    pub writes: u64,
    /// Number of I/Os in each step of latency, in order.
    pub steps: Vec<u64>,
}

impl Region {
    /// Makes a region over all of a node, under the name of a program.
    ///
    /// # Errors
    /// When the kernel keeps no statistics, or this user may not ask for them.
    pub(crate) fn create(node: &str, program: &str) -> io::Result<Self> {
        let dm = Dm::open()?;
        let id = dm.message(node, &create(program))?.trim().to_owned();
        if id.parse::<u32>().is_err() {
            return Err(io::Error::other(format!("the device mapper answered '{id}'")));
        }
        Ok(Self { dm, node: node.to_owned(), program: program.to_owned(), id })
    }

    /// Reads the counts.
    ///
    /// # Errors
    /// When the node or its region is gone, or the kernel answers something else.
    pub(crate) fn read(&self) -> io::Result<NodeCounts> {
        let text = self.dm.message(&self.node, &format!("@stats_print {}", self.id))?;
        counts(&text).ok_or_else(|| io::Error::other(format!("no statistics: '{}'", text.trim())))
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // If the node is gone, the region is gone, too; a new node of that name may have somebody else's region with the same number.
        let listed = self.dm.message(&self.node, "@stats_list").unwrap_or_default();
        for (id, _) in ids(&listed, &|program: &str| program == self.program) {
            let _ = self.dm.message(&self.node, &format!("@stats_delete {id}"));
        }
    }
}

/// The message that makes a region of one area with times in nanoseconds.
fn create(program: &str) -> String {
    let ends: Vec<_> = (0..).map_while(bound_ns).map(|end| end.to_string()).collect();
    format!("@stats_create - /1 2 precise_timestamps histogram:{} {program}", ends.join(","))
}

/// Reads the answer to `@stats_print` of a region of one area.
fn counts(text: &str) -> Option<NodeCounts> {
    let mut words = text.lines().next()?.split_whitespace().skip(1);
    let counters: Vec<u64> =
        words.by_ref().take(COUNTERS).map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let steps: Vec<u64> =
        words.next()?.split(':').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let wanted = (0..).map_while(bound_ns).count() + 1;
    let [reads, writes] = DONE.map(|place| counters.get(place).copied());
    (steps.len() == wanted).then_some(NodeCounts { reads: reads?, writes: writes?, steps })
}

/// An existing region of statistics.
pub(crate) struct Found {
    /// Its node.
    pub node: String,
    /// Its number there.
    pub id: String,
    /// Name of the program that made it.
    pub program: String,
}

/// Returns the regions of all nodes whose program names satisfy `is_of`.
pub(crate) fn regions(is_of: impl Fn(&str) -> bool) -> Vec<Found> {
    // Opening its control node would load the device mapper.
    if !Path::new("/sys/module/dm_mod").exists() {
        return Vec::new();
    }
    let Ok(dm) = Dm::open() else { return Vec::new() };
    let nodes = dm.names().unwrap_or_default().into_iter();
    let of_node = |node: String| {
        let listed = dm.message(&node, "@stats_list").unwrap_or_default();
        let regions = ids(&listed, &is_of).into_iter();
        regions.map(|(id, program)| Found { node: node.clone(), id, program }).collect::<Vec<_>>()
    };
    nodes.flat_map(of_node).collect()
}

/// Returns the numbers and program names of the regions in an answer to `@stats_list` whose program names satisfy `is_of`.
fn ids(listed: &str, is_of: &impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let regions = listed.lines().filter_map(|line| {
        let (id, rest) = line.split_once(':')?;
        // The place, the step, the program.
        let program = rest.split_whitespace().nth(2)?;
        is_of(program).then(|| (id.trim().to_owned(), program.to_owned()))
    });
    regions.collect()
}

impl Found {
    /// Deletes it; fine where it is gone.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn delete(&self) -> io::Result<()> {
        match Dm::open()?.message(&self.node, &format!("@stats_delete {}", self.id)) {
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(()),
            done => done.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_of_one_area_with_all_steps_of_latency() {
        let message = create("fathom_0badcafe_latency.1");
        let words: Vec<_> = message.split(' ').collect();
        assert_eq!(words[..5], ["@stats_create", "-", "/1", "2", "precise_timestamps"]);
        let ends = words[5].strip_prefix("histogram:").unwrap();
        assert!(ends.starts_with("1000,1091,1189,1297,1414,") && ends.ends_with(",16777216000"));
        assert_eq!((ends.split(',').count(), words[6]), (193, "fathom_0badcafe_latency.1"));
    }

    #[test]
    fn an_answer_is_read_and_one_of_another_form_is_refused() {
        let steps: Vec<_> = (0..194).map(|i| if i == 88 { "7" } else { "0" }).collect();
        let steps = steps.join(":");
        let text = format!("0+2097152 3 0 24 900 4 1 32 800 0 1700 1700 900 800 {steps}\n");
        let found = counts(&text).unwrap();
        assert_eq!((found.reads, found.writes, found.steps[88]), (3, 4, 7));
        assert_eq!(counts(&text.replace(":0\n", "\n")), None, "a step is missing");
        for other in ["", "0+8 1 2 3", "0+8 1 0 8 9 4 1 32 8 0 17 17 9 8"] {
            assert_eq!(counts(other), None, "{other}");
        }
    }

    #[test]
    fn regions_of_other_programs_are_not_ours() {
        let listed = "0: 0+2097152 2097152 dmstats -\n\
                      3: 0+2097152 2097152 fathom_0badcafe_latency.1 - precise_timestamps histogram:1,2\n";
        assert_eq!(
            ids(listed, &|program| program.starts_with("fathom_0badcafe")),
            [("3".to_owned(), "fathom_0badcafe_latency.1".to_owned())]
        );
        assert_eq!(ids(listed, &|program| program == "fathom"), []);
        assert_eq!(ids("", &|_| true), []);
    }
}
