//! Marks in charts: changes of throughput, changes of caches' conditions, starts of stages, and disturbed cells.

use super::clock::{StageStart, of_several};
use super::{Chart, CourseRow, Mark, View, strips};

/// The most marks: more would hide the chart.
const MAX_MARKS: usize = 8;

/// Returns the marks of a chart.
pub fn marks(view: &View, chart: &Chart) -> Vec<Mark> {
    let changes = view.courses.iter().filter(|course| course.is_in(&chart.id));
    let changes = changes.filter_map(CourseRow::mark);
    let marks = changes.chain(strips::marks(&view.cells, &chart.id));
    let of_caches = view.caches.iter().filter(|cache| cache.is_in(&chart.id));
    let of_caches = of_caches.flat_map(|cache| {
        let starts = view.starts.get(cache.course.variant).map_or(&[][..], Vec::as_slice);
        cache.marks(&chart.id, starts)
    });
    let all = marks.chain(of_caches).chain(starts(view, chart));
    all.map(|mark| if of_several(&chart.x) { view.idle.put(mark) } else { mark }).collect()
}

/// Returns marks of the starts of stages, for a chart over several stages: of all variants whose lines it has, if that is not too many.
fn starts(view: &View, chart: &Chart) -> Vec<Mark> {
    if !of_several(&chart.x) {
        return Vec::new();
    }
    let drawn = |variant: usize| match chart.of_variant() {
        Some(one) => one == variant,
        None => {
            chart.series.iter().any(|series| series.variant.is_none_or(|index| index == variant))
        }
    };
    let mark = |variant: usize, start: &StageStart| Mark {
        variant,
        x: start.at_s,
        low: None,
        high: None,
        label: if start.measured {
            start.stage.clone()
        } else {
            format!("{}, not measured", start.stage)
        },
    };
    let drawn_starts = view.starts.iter().enumerate().filter(|(variant, _)| drawn(*variant));
    let marks: Vec<Mark> = drawn_starts
        .flat_map(|(variant, starts)| starts.iter().map(move |start| mark(variant, start)))
        .collect();
    if marks.len() > MAX_MARKS { Vec::new() } else { marks }
}
